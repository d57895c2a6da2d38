// All words live in words.<lang>.html, one element per id; here they are put into the page and exchanged in place.

const store = new Map();
const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const said = new WeakMap();
const labelled = new WeakMap();
let current = 'en';

export const LANGUAGES = ['en', 'zh'];

/** The reader's own language, or English. */
export function preferred() {
  const wanted = (navigator.languages || [navigator.language]).map((tag) => tag.slice(0, 2));
  return wanted.find((tag) => LANGUAGES.includes(tag)) || 'en';
}

async function fetchWords(lang) {
  const page = new DOMParser().parseFromString(await (await fetch(`words.${lang}.html`)).text(), 'text/html');
  const words = new Map();
  for (const node of page.querySelectorAll('[id*="."]')) words.set(node.id, node.innerHTML.trim());
  return words;
}

/** Makes a language the current one and exchanges every word on the page. */
export async function speak(lang) {
  if (!store.has(lang)) store.set(lang, await fetchWords(lang));
  current = lang;
  document.documentElement.lang = lang === 'zh' ? 'zh-Hans' : lang;
  for (const node of document.querySelectorAll('[data-w]')) put(node);
  for (const node of document.querySelectorAll('[data-l]')) putLabel(node);
}

export const language = () => current;

/** A fragment as HTML, its {placeholders} filled with escaped values. A missing id shows itself. */
export function html(id, filled = {}) {
  const words = store.get(current)?.get(id);
  if (words === undefined) { console.error(`no words for ${id}`); return id; }
  return words.replace(/\{(\w+)\}/g, (all, name) => (name in filled ? escape(filled[name]) : all));
}

function escape(value) { return String(value).replace(/[&<>"]/g, (c) => escapes[c]); }

/** A fragment as plain text. */
export function text(id, filled) {
  const box = document.createElement('template');
  box.innerHTML = html(id, filled);
  return box.content.textContent;
}

/** Puts a fragment into a node, now and after every change of language. */
export function say(node, id, filled = {}) {
  const before = said.get(node);
  if (node.dataset.w === id && before && JSON.stringify(before) === JSON.stringify(filled)) return node;
  node.dataset.w = id;
  said.set(node, filled);
  put(node);
  return node;
}

/** The same for what a screen reader calls the node, and its tooltip. */
export function label(node, id, filled = {}) {
  node.dataset.l = id;
  labelled.set(node, filled);
  putLabel(node);
  return node;
}

function put(node) { if (store.has(current)) node.innerHTML = html(node.dataset.w, said.get(node)); }

function putLabel(node) {
  if (!store.has(current)) return;
  const words = text(node.dataset.l, labelled.get(node));
  node.setAttribute('aria-label', words);
  if (node.matches('button, a, li a')) node.title = words;
}
