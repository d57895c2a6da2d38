// Start, routes between chapters, language, theme. A chapter is {id, knobs, mount(root, ctx) -> view(state)}.
import { CHAPTERS } from './chapters/index.js';
import { h } from './dom.js';
import { prose } from './prose.js';
import * as state from './state.js';
import { language, preferred, say, speak, text } from './words.js';

const ids = CHAPTERS.map((chapter) => chapter.id);
const main = document.getElementById('chapter');
const region = document.getElementById('live');
let view = () => {};
let mounted = '';
let leaving = [];
let spoken = '';
let narrating = 0;

const ctx = {
  get state() { return state.get(); },
  set: state.set,
  /** Runs when the reader leaves the chapter. */
  leave: (fn) => leaving.push(fn),
  /** Tells a screen reader what just happened, at most a few times a second and only the latest. */
  narrate(words) {
    clearTimeout(narrating);
    narrating = setTimeout(() => { region.textContent = words; }, 400);
  },
  /** Shows a sentence under a figure and narrates it. */
  tell(node, id, values) { say(node, id, values); ctx.narrate(node.textContent); },
};

function contents() {
  document.querySelector('.toc ol').append(...ids.map((id, i) => h('li', {},
    h('a', { 'data-chapter': id }, h('b', {}, String(i + 1)), ' ', h('span', { w: `${id}.title` })))));
}

function turnPages(id) {
  const at = ids.indexOf(id);
  const to = (target, kind) => target && h('a', { class: kind, 'data-chapter': target },
    h('small', { w: `shell.${kind}` }), h('span', { w: `${target}.title` }));
  document.querySelector('.turn').replaceChildren(
    ...[to(ids[at - 1], 'previous'), to(ids[at + 1], 'next')].filter(Boolean));
}

function relink(now) {
  for (const a of document.querySelectorAll('a[data-chapter]')) {
    a.href = state.link(a.dataset.chapter, a.dataset.at ? { at: a.dataset.at } : {});
    if (a.closest('.toc')) a.toggleAttribute('aria-current', a.dataset.chapter === now.chapter);
  }
  document.querySelector('.brand').href = state.link('race');
  for (const b of document.querySelectorAll('[data-lang]')) b.setAttribute('aria-pressed', String(b.dataset.lang === language()));
}

function mount(now) {
  for (const fn of leaving) fn();
  leaving = [];
  region.textContent = '';
  const number = ids.indexOf(now.chapter);
  const article = h('article', { class: 'chapter', 'data-id': now.chapter },
    h('p', { class: 'number', w: 'shell.number', values: { n: number + 1, of: ids.length } }),
    h('h1', { w: `${now.chapter}.title` }));
  prose(article, `${now.chapter}.lead`).classList.add('lead');
  main.replaceChildren(article);
  turnPages(now.chapter);
  view = CHAPTERS[number].mount(article, ctx) || (() => {});
}

async function show(now) {
  const wanted = now.lang || preferred();
  if (wanted !== spoken) { spoken = wanted; await speak(wanted); }
  const entered = now.chapter !== mounted;
  if (entered) {
    const first = mounted === '';
    mounted = now.chapter;
    mount(now);
    if (!first) { main.focus({ preventScroll: true }); scrollTo(0, 0); }
  }
  document.title = `${text(`${now.chapter}.title`)} · ${text('shell.name')}`;
  relink(now);
  view(state.get());
  if (entered) arrive(now.at);
}

function arrive(at) {
  const place = at && main.querySelector(`[data-place="${CSS.escape(at)}"]`);
  if (!place) return;
  place.scrollIntoView();
  place.querySelector('a').focus({ preventScroll: true });
}

const knobsOf = (id) => CHAPTERS[ids.indexOf(id)].knobs || {};
const route = () => { state.enter(state.parse(location.hash, ids, knobsOf)); arrive(state.get().at); };

function theme() {
  const root = document.documentElement;
  const remember = (value) => { try { localStorage.setItem('theme', value); } catch { /* a private window */ } };
  try { root.dataset.theme = localStorage.getItem('theme') || 'auto'; } catch { root.dataset.theme = 'auto'; }
  document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme === 'dark' || (root.dataset.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
    root.dataset.theme = dark ? 'light' : 'dark';
    remember(root.dataset.theme);
  });
}

document.querySelector('.skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
for (const b of document.querySelectorAll('[data-lang]')) b.addEventListener('click', () => state.set({ lang: b.dataset.lang }));
addEventListener('hashchange', route);
theme();
contents();
state.watch(show);
route();
