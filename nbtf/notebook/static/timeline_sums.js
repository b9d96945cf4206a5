// The part of a long recording without rows of its own: columns with the load of each lane, converted into pieces of a scene.
//
// Python computes the sums (see stills/long_timeline.py). Such a piece is as long as its column, and busy for a share of it.

// The ops and copies of a scene, rows and sums, in order: {ops: {start, seconds, fact, share}, copies: {..., share}, counts, facts}.
export function withSums(data, ops, copies, decoded) {
  const facts = [...data.facts];
  const numbers = new Map(); // token -> its fact
  const factOfToken = (token) => {
    if (!numbers.has(token)) numbers.set(token, facts.push(["", "", "", token, "", "", "", -1]) - 1);
    return numbers.get(token);
  };
  let first = 0;
  const lanes = data.counts.map((count) => {
    const rows = [];
    for (let op = first; op < first + count; op++) rows.push([ops.start[op], ops.seconds[op], ops.fact[op], 1]);
    first += count;
    return rows;
  });
  const copied = Array.from(copies.start, (start, at) => [start, copies.seconds[at], copies.source[at], copies.target[at], copies.nbytes[at], 1]);
  for (const sums of data.sums) {
    const shares = decoded(sums.shares, Uint16Array);
    sums.rows.forEach(([lane, token], row) => {
      for (let column = 0; column < sums.columns; column++) {
        const share = shares[row * sums.columns + column] / sums.unit;
        if (!share) continue;
        const start = sums.from + column * sums.width;
        if (token === "cpyf") copied.push([start, sums.width, lane, lane, 0, share]);
        else lanes[lane].push([start, sums.width, factOfToken(token), share]);
      }
    });
  }
  for (const rows of [...lanes, copied]) rows.sort((a, b) => a[0] - b[0]);
  return {
    ops: columnsOf(lanes.flat(), { start: Float64Array, seconds: Float64Array, fact: Uint32Array, share: Float64Array }),
    copies: columnsOf(copied, { start: Float64Array, seconds: Float64Array, source: Uint16Array, target: Uint16Array, nbytes: Float64Array, share: Float64Array }),
    counts: lanes.map((rows) => rows.length),
    facts,
  };
}

function columnsOf(rows, types) {
  return Object.fromEntries(Object.entries(types).map(([name, Numbers], at) => [name, Numbers.from(rows, (row) => row[at])]));
}

// The busy share of a piece: partial for a column of sums, otherwise all of it.
export function shareOf({ share }, number) {
  return share ? share[number] : 1;
}
