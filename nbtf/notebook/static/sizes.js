// Formats numbers of bytes for pictures. Counterpart of _devices/sizes.py.

const MIB_BYTES = 2 ** 20;
const GIB_BYTES = 2 ** 30;

// "5 GiB", "14.2 GiB", "1021.5 MiB", "1.2 KiB", "700 bytes".
export function sizeInWords(nbytes) {
  if (nbytes >= GIB_BYTES) return `${oneDecimal(nbytes / GIB_BYTES)} GiB`;
  if (nbytes >= MIB_BYTES) return `${oneDecimal(nbytes / MIB_BYTES)} MiB`;
  return nbytes >= 1024 ? `${oneDecimal(nbytes / 1024)} KiB` : `${nbytes} bytes`;
}

// "15 of 16 GiB": both in one unit if that is precise enough.
export function partInWords(nbytes, whole) {
  const [unit, name] = whole >= 4 * GIB_BYTES ? [GIB_BYTES, "GiB"] : [MIB_BYTES, "MiB"];
  if (nbytes < Math.floor(unit / 10)) return `${sizeInWords(nbytes)} of ${sizeInWords(whole)}`;
  return `${oneDecimal(nbytes / unit)} of ${oneDecimal(whole / unit)} ${name}`;
}

// Rounds as Python does: halves to the even neighbour.
function oneDecimal(number) {
  const isHalf = Number.isInteger(number * 4) && !Number.isInteger(number * 2);
  const tenths = Math.floor(number * 10);
  const words = isHalf ? ((tenths + (tenths % 2)) / 10).toFixed(1) : number.toFixed(1);
  return words.replace(/\.0$/, "");
}
