// What a page counts from its first moment on: widget messages from the kernel, and gaps between animation frames.
(() => {
  const seen = { messages: [], frames: [] };
  window.__seen = seen;
  window.__nbtf = {}; // the views count into it

  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...options) {
      super(...options);
      this.addEventListener("message", ({ data }) => {
        const head = typeof data === "string" ? data.slice(0, 2000) : new TextDecoder().decode(data.slice(0, 2000));
        if (/"msg_type":\s*"comm_msg"/.test(head)) seen.messages.push(performance.now());
      });
    }
  };

  const frame = (now) => {
    seen.frames.push(now);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})();
