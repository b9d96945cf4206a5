// The sizes of the parts of a picture of memory, in px.

// `widest` is enough space for any size, so that the text below keeps its position from step to step. `pale` is the opacity of the
// bytes that the allocator adds to a request, and `refusal` the width of a failed request, enough to read its size.
export const PLANE = { leastWidth: 560, curve: 40, side: 176, widest: "1021.5 MiB", height: 330, bar: 46, pale: 0.35, left: 66, margin: 16, refusal: 112 };
