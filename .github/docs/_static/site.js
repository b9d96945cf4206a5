// Code that is wider than the page can be scrolled from the keyboard, as with a finger.
addEventListener("load", () => {
  const mark = () =>
    document.querySelectorAll("pre, .table-wrapper, .output.text_html").forEach((box) => {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  mark();
  addEventListener("resize", mark);
  document.querySelectorAll("details").forEach((box) => box.addEventListener("toggle", mark));
});
