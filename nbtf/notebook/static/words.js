// Every visible text of the views, in one place.
//
// A view's words stand in its own section (frame, replay, map, memory). Texts with {names} are completed by `fill`; a
// number is written with separators, so that "100000" reads "100,000". Device names and ops are data, never words.

export const WORDS = {
  frame: {
    live: "live",
    idle: "idle",
    ended: "ended – last update {time}",
    stale: "◌ not live – last update {time}",
    paused: "paused at {time}",
    replay: "replay",
    table: "Table",
    tableHint: "Show the same rows as tables",
    pause: "Pause",
    pauseHint: "Hold this picture; the recording goes on",
    events: "{n} events",
    event: "1 event",
    noEvents: "no events yet",
    status: "{title}, {badge}: {events}",
    waiting: "Waiting for the first state.",
  },
  replay: {
    label: "Replay",
    play: "Play",
    hold: "Stop",
    back: "Back",
    step: "Step",
    live: "Live",
    liveHint: "Leave the replay and follow what happens",
    scrub: "Step shown",
    speed: "Speed",
    place: "step {i} of {n}",
    placeOfCell: "{cell}, step {i} of {n}",
    kept: "{n} steps kept",
    allKept: "{n} steps",
    noSteps: "nothing to replay yet",
    hint: "Play or step through what ran, at reading speed.",
    ran: "{op} ran on {device}: {why}",
    ranUnexplained: "{op} ran on {device}",
    failed: "{op} failed on {device}: {why}",
    failedUnexplained: "{op} failed on {device}",
    copied: "{nbytes} copied from {device} to {target}",
    copiedWhy: "{nbytes} copied from {device} to {target}: {why}",
    seconds: "{seconds}",
    modelled: "{seconds} modelled",
  },
  map: {},
  memory: {},
};

export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? grouped(value) : String(value ?? "");
  });
}

export function grouped(number) {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}
