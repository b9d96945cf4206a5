// Reads the columns of numbers that Python packs (see stills/timeline_data.py).

// The numbers of a column as an array of the type `Numbers`.
export function decoded(packed, Numbers) {
  if (Uint8Array.fromBase64) return new Numbers(Uint8Array.fromBase64(packed).buffer);
  const letters = atob(packed);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = letters.charCodeAt(at);
  return new Numbers(bytes.buffer);
}
