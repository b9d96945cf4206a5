// A page that has no shell shows widgets as VS Code and Colab do: a model's program renders elements, and hears what the test says.
window.pageWithoutShell = async (script) => {
  const { default: program } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const traits = { docked: true, ident: "view", texts: {} };
  const listeners = new Map();
  const of = (name) => listeners.get(name) ?? listeners.set(name, new Set()).get(name);
  const sent = [];
  const shown = new Map();
  const model = { get: (name) => traits[name], on: (name, heard) => of(name).add(heard), off: (name, heard) => of(name).delete(heard), send: (content) => sent.push(content) };
  const set = (name, value) => {
    traits[name] = value;
    for (const heard of [...of(`change:${name}`)]) heard();
  };
  const hear = (content) => [...of("msg:custom")].forEach((heard) => heard(content));
  const show = (id) => {
    const el = Object.assign(document.createElement("div"), { id });
    document.querySelector("main").append(el);
    shown.set(id, { el, stop: program.render({ model, el }) });
  };
  const remove = (id) => {
    const { el, stop } = shown.get(id);
    stop();
    el.remove();
  };
  Object.assign(window, { set, hear, show, remove, sent });
};
