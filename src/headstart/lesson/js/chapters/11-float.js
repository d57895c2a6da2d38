// Chapter 11: is it still true in floating point? One sum in two orders, and measured rows of a library and of the engine.
import { grouped, h, inSlices } from '../dom.js';
import { button, choose, figure, gauge, TOYS } from '../figure.js';
import { bet, player } from '../player.js';
import { prose } from '../prose.js';
import { loadJson } from '../trace.js';
import { say } from '../words.js';

/** Scores of two words as sums; on paper love is ahead by a ten-millionth. */
const TERMS = [[0.5, 0.3, 0.2, 0.6, 0.7000001, 0.8, 0.7, 0.8], [0.8, 0.8, 0.3, 0.1, 0.8, 0.9, 0.1, 0.8]];
const STEPS = TERMS[0].length - 1;
const TRIES = 1000;
const SIZE = 16; // words of a place, and terms of a word

const bits = new Uint32Array(1);
const number = new Float32Array(bits.buffer);

/** Rounding to the nearest number of 24 or of 8 binary digits. */
export const ROUNDINGS = {
  float32: Math.fround,
  bfloat16(x) { number[0] = x; bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000; return number[0]; },
};

/** What is left of a sum after some additions: one after the other, or in pairs. */
export const ORDERS = { row: () => 0, pairs: (at, left) => (at + 2 < left ? at + 1 : 0) };

export function partial(order, terms, round, steps = terms.length - 1) {
  const list = terms.map(round);
  const given = terms.slice();
  for (let at = 0, i = 0; i < steps; i += 1) {
    list.splice(at, 2, round(list[at] + list[at + 1]));
    given.splice(at, 2, null);
    at = ORDERS[order](at, list.length);
  }
  return { list, given };
}

const winner = (scores) => scores.indexOf(Math.max(...scores));

/** Compares both orders on random scores, place by place; paint gets {tried, differ, flips}. */
export function* compare(round, seed, paint) {
  let state = seed >>> 0;
  const next = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 31 - 1; };
  const seen = { tried: 0, differ: 0, flips: 0 };
  for (; seen.tried < TRIES; yield) {
    const words = Array.from({ length: SIZE }, () => Array.from({ length: SIZE }, next));
    const [a, b] = Object.keys(ORDERS).map((order) => words.map((terms) => partial(order, terms, round).list[0]));
    seen.tried += 1;
    seen.differ += a.some((score, i) => score !== b[i]);
    seen.flips += winner(a) !== winner(b);
    if (seen.tried % 100 === 0) paint(seen);
  }
}

/** The first figure: the same numbers in two orders, addition by addition. */
function sums(root, ctx) {
  const fig = figure(root, 'float.fig');
  const boxes = Object.keys(ORDERS).map((order) => {
    const rows = TERMS.map(() => h('p', { class: 'addends' }));
    const said = h('p', { class: 'result' });
    return { order, rows, said, root: h('div', {}, h('p', { class: 'who', w: `float.${order}` }), ...rows, said) };
  });
  fig.stage.append(h('div', { class: 'columns' }, ...boxes.map((box) => box.root)));
  const controls = player(ctx, { pace: () => 800 });
  fig.controls.append(controls.root);
  return (now) => {
    const t = Math.min(now.t, STEPS);
    controls.update(t, STEPS);
    for (const { order, rows, said } of boxes) {
      const lists = TERMS.map((terms) => partial(order, terms, Math.fround, t));
      lists.forEach(({ list, given }, word) => rows[word].replaceChildren(`${TOYS[word].face} `,
        ...list.flatMap((x, i) => [i ? ' + ' : '', given[i] === null ? h('b', {}, x.toPrecision(9)) : String(given[i])])));
      say(said, t < STEPS ? 'float.open' : 'float.wins', { word: TOYS[winner(lists.map(({ list }) => list[0]))].face });
    }
    ctx.tell(fig.narration, t < STEPS ? 'float.go' : 'float.flip');
  };
}

/** The second figure: how often that happens. */
function often(root, ctx) {
  const fig = figure(root, 'float.often');
  const kind = choose(ctx, 'kind', 'float.kind', Object.keys(ROUNDINGS));
  const told = h('p', { class: 'result', w: 'float.none' });
  fig.stage.append(kind.root, told);
  fig.controls.append(button('float.try', () => ctx.set({ tries: ctx.state.tries + 1 }), { primary: true, values: { n: grouped(TRIES) } }));
  let stop = () => {};
  let key = '';
  ctx.leave(() => stop());
  return ({ kind: name, tries, seed }) => {
    const round = ROUNDINGS[name] || Math.fround;
    kind.update(ROUNDINGS[name] ? name : 'float32');
    if (key === `${name} ${tries} ${seed}` || !tries) return;
    key = `${name} ${tries} ${seed}`;
    stop();
    stop = inSlices(compare(round, 97 * seed + tries, ({ tried, differ, flips }) => ctx.tell(told, 'float.seen', { tried: grouped(tried), differ: grouped(differ), flips })));
  };
}

/** The third figure: one row against five, measured. */
function measured(root) {
  const fig = figure(root, 'float.rows', 'trace');
  const list = { numpy: gauge('float.theirs', 'rejected'), engine: gauge('float.engine', 'accepted') };
  const facts = h('p', { class: 'note' });
  fig.stage.append(list.numpy.root, list.engine.root, facts);
  loadJson('points').then(({ rows, model, machine }) => {
    for (const who of Object.keys(list)) list[who].update(rows[who].differ / rows[who].rows, `${rows[who].differ}/${rows[who].rows}`);
    const { library, shape, largest, flips } = rows.numpy;
    say(facts, 'float.facts', { library, shape: shape.join(' × '), largest, flips, model, machine });
  });
}

export default {
  id: 'float',
  knobs: { kind: 'float32', tries: 0, guess: -1 },
  mount(root, ctx) {
    const { reveal, update } = bet(root, ctx, 'float', { answer: 2 });
    const first = sums(reveal, ctx);
    const second = often(reveal, ctx);
    prose(reveal, 'float.where');
    measured(reveal);
    prose(reveal, 'float.ours');
    return (now) => {
      update();
      first(now);
      second(now);
    };
  },
};
