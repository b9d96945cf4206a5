// The texts of an element that stand on one another, and those that something cuts off, but for what scrolls.
(view) => {
  const within = (box, other) => box.left >= other.left - 1 && box.right <= other.right + 1 && box.top >= other.top - 1 && box.bottom <= other.bottom + 1;
  const crossed = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const scrolls = (node) => /auto|scroll/.test(getComputedStyle(node).overflowX + getComputedStyle(node).overflowY);
  const seen = [];
  const found = [];
  const walk = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const text = node.data.trim();
    const parent = node.parentElement;
    if (!text || !parent.getClientRects().length || parent.closest(".nbtf-status, option")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 1);
    for (let around = parent; around !== view.parentElement; around = around.parentElement) {
      if (scrolls(around)) {
        boxes.length = 0; // what is outside is not seen, and can be brought into sight
        break;
      }
      const clips = around === view || getComputedStyle(around).overflow !== "visible" || getComputedStyle(around).contain !== "none";
      if (clips && boxes.some((box) => !within(box, around.getBoundingClientRect()))) found.push(`cut off: ${text}`);
    }
    for (const box of boxes) {
      const under = seen.find(([other, old]) => other !== node && crossed(box, old));
      if (under) found.push(`${text} on ${under[0].data.trim()}`);
    }
    seen.push(...boxes.map((box) => [node, box]));
  }
  return [...new Set(found)];
}
