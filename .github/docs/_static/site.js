// Code, tables and wide pictures that do not fit the window can be scrolled with the keyboard.
addEventListener("load", () => {
  document.querySelectorAll("img.nbtf-wide").forEach((picture) => {
    const box = document.createElement("div");
    box.className = "nbtf-scroll";
    picture.replaceWith(box);
    box.append(picture);
  });
  const mark = () =>
    document.querySelectorAll("pre, .table-wrapper, .output.text_html, .nbtf-output, .nbtf-scroll").forEach((box) => {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  mark();
  addEventListener("resize", mark);
  document.querySelectorAll("details").forEach((box) => box.addEventListener("toggle", mark));
});
