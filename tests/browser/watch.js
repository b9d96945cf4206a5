// What a page counts from its first moment on: widget messages from the kernel.
(() => {
  const seen = { messages: 0 };
  window.__seen = seen;
  window.__nbtf = {}; // the views count into it

  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...options) {
      super(...options);
      this.addEventListener("message", ({ data }) => {
        const head = typeof data === "string" ? data.slice(0, 2000) : new TextDecoder().decode(data.slice(0, 2000));
        if (/"msg_type":\s*"comm_msg"/.test(head)) seen.messages += 1;
      });
    }
  };
})();
