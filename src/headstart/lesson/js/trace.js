// Recorded runs of the real engine, fetched once.

const loaded = new Map();

/** A trace by name, from traces/<name>.json. */
export function loadTrace(name) {
  if (!loaded.has(name)) loaded.set(name, fetch(`traces/${name}.json`).then((answer) => answer.json()));
  return loaded.get(name);
}
