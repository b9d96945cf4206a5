// Asks the kernel about a recording. An answer arrives compressed and in parts, once the kernel has time.

// {ask(question), live()}: an answer comes when the kernel has time, which may be never.
export function askerOf(model) {
  const questions = new Map();
  let asked = 0;
  model.on("msg:custom", ({ kind, number, parts, failed }, [part] = []) => {
    const question = kind === "answer" && questions.get(number);
    if (!question) return;
    if (part) question.parts.push(bytesOf(part));
    if (!failed && question.parts.length < parts) return;
    questions.delete(number);
    if (failed) question.reject(new Error(failed));
    else question.resolve(new Response(new Blob(question.parts).stream().pipeThrough(new DecompressionStream("deflate"))).json());
  });
  const ask = (question) =>
    new Promise((resolve, reject) => {
      questions.set(++asked, { resolve, reject, parts: [] });
      model.send({ kind: "ask", number: asked, ...question });
    });
  return { ask, live: connectionOf(model) };
}

function bytesOf(part) {
  return part.buffer ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength) : new Uint8Array(part);
}

// Returns whether the model's kernel is connected. A page that does not report this counts as connected.
function connectionOf(model) {
  let whole = null;
  Promise.resolve(model.widget_manager?.get_model?.(model.get("ident"))).then((all) => (whole = all), () => {});
  return () => whole?.comm_live !== false && !whole?.comm?.jsServicesComm?.isDisposed;
}
