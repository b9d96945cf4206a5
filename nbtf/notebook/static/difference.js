// Applies differences as written by difference.py. The new state shares unchanged parts with the old one, which is not modified.

export function withDifference(old, difference) {
  if (Array.isArray(difference)) {
    const [first, last, rest] = difference;
    return difference.length === 3 ? [...old.slice(first, last), ...rest] : first;
  }
  const changed = Array.isArray(old) ? [...old] : { ...old };
  for (const [key, one] of Object.entries(difference)) {
    if (Array.isArray(one) && !one.length) delete changed[key];
    else changed[key] = withDifference(old[key], one);
  }
  return changed;
}

// Keeps a model's state up to date from the start. After a missed message, it requests the whole state from the kernel.
export function followStates(model) {
  let asked = null;
  const take = ({ kind, from, to, difference }) => {
    const state = model.get("state") || {};
    if (kind !== "difference" || state.message === to) return;
    if (state.message === from) return void model.set("state", withDifference(state, difference));
    if (asked === state.message) return;
    asked = state.message;
    model.send({ kind: "whole" });
  };
  model.on("msg:custom", take);
  return () => model.off("msg:custom", take);
}
