// The state is the URL hash: #chapter?t=3&seed=7&lang=zh&p=60 … Whatever can be seen follows from it.

/** Knobs that chapters share, in hundredths: p and q of love; p3 and q3 of love, hate, meh. */
export const SHARED = { p: 60, q: 20, p3: '50,30,20', q3: '30,20,50' };

const BASE = { t: 0, seed: 1, at: '' };

let defaults = { ...BASE, ...SHARED };
let state = { chapter: '', lang: '', ...defaults };
let timer = 0;
const listeners = new Set();

/** Reads a hash; unknown keys and values of another kind are left aside. */
export function parse(hash, chapters, knobsOf) {
  const [name, query = ''] = hash.replace(/^#/, '').split('?');
  const chapter = chapters.includes(name) ? name : chapters[0];
  const knobs = knobsOf(chapter);
  const start = { ...BASE, ...SHARED, ...knobs };
  const read = { chapter, lang: '', ...start };
  for (const [key, raw] of new URLSearchParams(query)) {
    if (key === 'lang') read.lang = ['en', 'zh'].includes(raw) ? raw : '';
    else if (key in start) read[key] = like(start[key], raw);
  }
  return { read, start };
}

function like(sample, raw) {
  if (typeof sample === 'number') return Number.isFinite(Number(raw)) && raw !== '' ? Number(raw) : sample;
  return typeof sample === 'boolean' ? raw === 'true' : raw;
}

/** Writes a hash: everything that differs from the start, and the language. */
export function format(from, start = defaults) {
  const query = new URLSearchParams();
  for (const key of Object.keys(start)) if (from[key] !== start[key]) query.set(key, from[key]);
  if (from.lang) query.set('lang', from.lang);
  const words = query.toString().replaceAll('%2C', ',');
  return `#${from.chapter}${words ? `?${words}` : ''}`;
}

export const get = () => state;
export const watch = (fn) => { listeners.add(fn); return () => listeners.delete(fn); };

/** Takes over a parsed hash. */
export function enter({ read, start }) {
  defaults = start;
  state = read;
  clearTimeout(timer);
  for (const fn of listeners) fn(state);
}

/** Changes some of the state; the address follows a moment later, so that dragging does not flood it. */
export function set(patch) {
  const changed = Object.keys(patch).filter((key) => patch[key] !== state[key]);
  if (!changed.length) return;
  state = { ...state, ...patch };
  clearTimeout(timer);
  timer = setTimeout(flush, 200);
  for (const fn of listeners) fn(state);
}

/** Brings the address up to date at once. */
export function flush() {
  clearTimeout(timer);
  const hash = format(state);
  if (location.hash !== hash) history.replaceState(null, '', hash);
}

/** The link to another chapter: shared knobs, seed and language travel along. */
export function link(chapter, patch = {}) {
  const kept = { chapter, lang: state.lang, seed: state.seed };
  for (const key of Object.keys(SHARED)) kept[key] = state[key];
  const start = { ...BASE, ...SHARED, ...Object.fromEntries(Object.keys(patch).map((key) => [key, undefined])) };
  return format({ ...start, ...kept, t: 0, at: '', ...patch }, start);
}
