// The shared pieces of every figure: frame and badge, laws to drag, bars with gold ticks, areas, token strips.
import { clamp, css, h, percent, shown } from './dom.js';
import { hundredths, knob } from './laws.js';
import { label, say, text } from './words.js';

/** The toy vocabulary; names are in the words, the pictures are the same in every language. */
export const TOYS = [{ id: 'love', face: '💗' }, { id: 'hate', face: '🖤' }, { id: 'meh', face: '🤍' }];

/**
 * A figure's frame. `title` is a word id; `badge` is 'trace', 'live' or 'whatif'.
 * Returns {root, stage, controls, narration, badge(kind)}: put the picture on the stage, buttons among the controls.
 */
export function figure(host, title, badge = 'whatif') {
  const mark = h('span', { class: 'badge' });
  const stage = h('div', { class: 'stage' });
  const controls = h('div', { class: 'controls' });
  const narration = h('p', { class: 'narration' });
  const root = h('figure', { class: 'fig' },
    h('figcaption', {}, h('span', { w: title }), mark), stage, controls, narration);
  const setBadge = (kind) => { mark.className = `badge ${kind}`; say(mark, `badge.${kind}`); };
  setBadge(badge);
  host.append(root);
  return { root, stage, controls, narration, badge: setBadge };
}

/** A button; the one to press next is `primary`. */
export function button(word, fn, { primary = false, values } = {}) {
  return h('button', { type: 'button', class: primary ? 'primary' : '', w: word, values, on: { click: fn } });
}

/** A native choice among values, which are called `<prefix>.<value>`. Returns {root, update(value)}. */
export function choice(word, values, prefix, fn) {
  const select = h('select', { on: { change: () => fn(select.value) } }, ...values.map((value) => h('option', { value, w: `${prefix}.${value}` })));
  const root = h('label', { class: 'choice' }, h('span', { w: word }), select);
  return { root, update: (value) => { select.value = value; } };
}

/** The same for one knob of the state. */
export const choose = (ctx, name, word, values, prefix = word.split('.')[0]) => choice(word, values, prefix, (value) => ctx.set({ [name]: value }));

/** A slider for one knob of the state. */
export const dial = (ctx, name, word, limits) => slider(word, limits, (value) => ctx.set({ [name]: value }));

/** A native slider with its name and its value in words. Returns {root, input, update(value, shown)}. */
export function slider(word, { min, max, step = 1, kind = '', values }, fn) {
  const input = h('input', { type: 'range', min, max, step, class: kind, on: { input: () => fn(Number(input.value)) } });
  const output = h('output');
  const root = h('label', { class: 'slide' }, h('span', { w: word, values }), input, output);
  const update = (value, words = String(value)) => {
    input.value = value;
    input.setAttribute('aria-valuetext', words);
    css(input, { '--v': (value - min) / (max - min) });
    output.textContent = words;
  };
  return { root, input, update };
}

const toyName = (toy) => h('span', { class: 'toy' }, h('span', { class: 'face', 'aria-hidden': true }, toy.face),
  h('span', { w: `word.${toy.id}` }));

/**
 * A law that can be dragged, in hundredths that sum to 100. `who` is 'p' or 'q'; `set(hundredths)` is told.
 * Returns {root, update(hundredths)}.
 */
export function lawEditor({ who, size, set }) {
  let now = [];
  const rows = TOYS.slice(0, size).map((toy, i) => {
    const input = h('input', { type: 'range', min: 0, max: 100, class: who,
      on: { input: () => set(moved(now, i, Number(input.value))) } });
    label(input, `law.${who}`, { word: toy.face });
    const output = h('output');
    return { input, output, root: h('div', { class: 'row' }, toyName(toy), input, output) };
  });
  const root = h('div', { class: `law ${who}` }, h('p', { class: `who ${who}`, w: `who.${who}` }), ...rows.map((r) => r.root));
  const update = (hundredths) => {
    now = hundredths;
    rows.forEach(({ input, output }, i) => {
      input.value = now[i];
      css(input, { '--v': now[i] / 100 });
      input.setAttribute('aria-valuetext', `${now[i]}%`);
      output.textContent = `${now[i]}%`;
    });
  };
  return { root, update };
}

/** Both laws over two or three words, tied to the shared knobs. Returns {root, update(state)}. */
export function editors(ctx, size) {
  const both = ['p', 'q'].map((who) => ({ who, ...lawEditor({ who, size, set: (law) => ctx.set(knob(who, law)) }) }));
  return { both, root: h('div', { class: 'columns' }, ...both.map((one) => one.root)),
    update: (now) => { for (const { who, update } of both) update(hundredths(now, who, size)); } };
}

/** One entry moved to `value`; the others keep their proportions and the sum stays 100. */
export function moved(hundredths, index, value) {
  const rest = 100 - hundredths[index];
  let left = 100 - value;
  const out = hundredths.map((old, i) => {
    if (i === index) return value;
    const share = rest > 0 ? old / rest : 1 / (hundredths.length - 1);
    return Math.floor(share * (100 - value));
  });
  out.forEach((x, i) => { if (i !== index) left -= x; });
  for (let i = 0; left > 0; i = (i + 1) % out.length) if (i !== index) { out[i] += 1; left -= 1; }
  return out;
}

/**
 * Bars, one a word, with a gold tick where p is and a band of what chance allows.
 * Returns {root, update(values, {ticks, bands, texts})}; all in 0..1.
 */
export function bars({ size, kind = 'out', names = TOYS }) {
  const rows = names.slice(0, size).map((toy) => {
    const fill = h('i', { class: `fill ${kind}` });
    const band = h('i', { class: 'band' });
    const tick = h('i', { class: 'tick' });
    const number = h('output');
    return { fill, band, tick, number,
      root: h('div', { class: 'row' }, toyName(toy), h('div', { class: 'track' }, band, fill, tick), number) };
  });
  const root = h('div', { class: 'bars' }, ...rows.map((r) => r.root));
  const update = (values, { ticks = null, bands = null, texts = null } = {}) => rows.forEach((row, i) => {
    css(row.fill, { '--v': clamp(values[i] || 0, 0, 1) });
    shown(row.tick, ticks !== null);
    shown(row.band, bands !== null);
    if (ticks) css(row.tick, { '--v': ticks[i] });
    if (bands) css(row.band, { '--from': clamp(ticks[i] - bands[i], 0, 1), '--to': clamp(ticks[i] + bands[i], 0, 1) });
    row.number.textContent = texts ? texts[i] : percent(values[i] || 0, 1);
  });
  return { root, update };
}

/** One bar with a name and a number. Returns {root, update(share, shown)}. */
export function gauge(word, kind) {
  const fill = h('i', { class: `fill ${kind}` });
  const number = h('output');
  return { root: h('div', { class: 'row wide' }, h('span', { w: word }), h('div', { class: 'track' }, fill), number),
    update: (share, words) => { css(fill, { '--v': share }); number.textContent = words; } };
}

/**
 * Upright columns on one scale, each perhaps with a gold tick.
 * Returns {root, update([{name, value, tick, text, kind}])}.
 */
export function upright() {
  const root = h('div', { class: 'hist', role: 'img' });
  const update = (list) => {
    root.classList.toggle('many', list.length > 7);
    const most = Math.max(1e-9, ...list.flatMap(({ value, tick = 0 }) => [value, tick]));
    root.replaceChildren(...list.map(({ name, value, tick, text: words, kind = 'accepted' }) => {
      const shaft = h('span', { class: 'shaft' }, h('i'), tick === undefined ? null : h('b'));
      css(shaft, { '--v': value / most, '--at': (tick || 0) / most });
      return h('div', { class: kind }, h('output', {}, words), shaft, h('small', {}, name));
    }));
    root.setAttribute('aria-label', list.map(({ name, text: words }) => `${name}: ${words}`).join(', '));
  };
  return { root, update };
}

/**
 * Areas: rectangles in the unit square that keep their identity, so that they can slide when the step changes.
 * Returns {root, update([{key, x, y, w, h, kind, text}])}; y grows upwards.
 */
export function areas({ ratio = 1.6 } = {}) {
  const root = h('div', { class: 'areas' });
  css(root, { '--ratio': ratio });
  const boxes = new Map();
  const update = (list) => {
    const seen = new Set();
    for (const item of list) {
      seen.add(item.key);
      if (!boxes.has(item.key)) boxes.set(item.key, root.appendChild(h('div', { class: 'area' }, h('span'))));
      const box = boxes.get(item.key);
      box.className = `area ${item.kind}${item.w * item.h < 1e-9 ? ' none' : ''}`;
      css(box, { left: percent(item.x, 3), bottom: percent(item.y, 3), width: percent(item.w, 3), height: percent(item.h, 3) });
      box.firstChild.textContent = item.w > 0.1 && item.h > 0.09 ? item.text || '' : '';
    }
    for (const [key, box] of boxes) if (!seen.has(key)) { box.remove(); boxes.delete(key); }
  };
  return { root, update };
}

/** One token as it is seen everywhere: {text, kind}. Outside of flowing text spaces and line ends are made visible. */
export function token({ text: words, kind, future, gone }, flowing = false) {
  const visible = flowing ? words : words.replace(/\n/g, '↵').replace(/^ /, '\u00b7');
  const node = h('span', { class: `tok ${kind}${future ? ' future' : ''}${gone ? ' gone' : ''}` }, h('span', { class: 'sr' }, `${text(`kind.${kind}`)}: `), visible || '\u2205');
  return node;
}

/** A strip of tokens. Returns {root, update([{text, kind}])}; unchanged tokens stay where they are. */
export function strip({ className = '' } = {}) {
  const root = h('div', { class: `strip ${className}` });
  const flowing = className.includes('flow');
  let last = [];
  const update = (tokens) => {
    const keys = tokens.map((t) => `${t.kind}|${t.text}|${t.future ? 1 : 0}${t.gone ? 1 : 0}|${document.documentElement.lang}`);
    let same = 0;
    while (same < keys.length && keys[same] === last[same]) same += 1;
    while (root.childNodes.length > same) root.lastChild.remove();
    root.append(...tokens.slice(same).map((one) => token(one, flowing)));
    last = keys;
  };
  return { root, update };
}

/** The key to colours and shapes: only the kinds that a figure uses. */
export function legend(...kinds) {
  return h('ul', { class: 'legend' }, ...kinds.map((kind) => h('li', {}, h('span', { class: `mark ${kind}`, w: `kind.${kind}` }))));
}
