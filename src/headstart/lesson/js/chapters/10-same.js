// Chapter 10: same law or same text. Shared chance: the draft may change, the text does not move; and what that costs.
import { log, roundCoins } from '../coins.js';
import { css, decimal, h, percent } from '../dom.js';
import { bars, button, choose, dial, figure, editors, legend, strip, TOYS } from '../figure.js';
import { hundredths, laws } from '../laws.js';
import { bet } from '../player.js';
import { prose } from '../prose.js';
import { coupled, overlap } from '../theory.js';
import { write } from '../toy.js';
import { roundsOf } from '../trace.js';
import { text } from '../words.js';

const COUNT = 24;
const DRAFTS = ['80,10,10', '5,90,5', '50,30,20', '0,0,100', '30,20,50'];
const COSTS = ['best', 'shared', 'floor', 'apart'];

/** One place: every word runs once, at p's pace and at q's; whoever arrives first is said. */
function lottery(root, ctx) {
  const fig = figure(root, 'same.fig');
  const lanes = TOYS.map((toy) => {
    const runners = ['p', 'q'].map((who) => h('i', { class: `runner ${who}` }));
    const drawn = h('output');
    return { runners, drawn, root: h('div', { class: 'row' }, h('span', { class: 'toy' }, h('span', { class: 'face' }, toy.face), h('span', { w: `word.${toy.id}` })), h('div', { class: 'track' }, ...runners), drawn) };
  });
  fig.stage.append(h('p', { class: 'note', w: 'same.how' }), ...lanes.map((lane) => lane.root), legend('p', 'q'));
  fig.controls.append(button('same.next', () => ctx.set({ t: ctx.state.t + 1 }), { primary: true }));
  return (now, p, q) => {
    const coins = roundCoins(now.seed, 0, 0);
    const effort = TOYS.map((_, word) => -log(coins.noise(now.t + 1, word)));
    const first = [p, q].map((law) => {
      const times = effort.map((x, word) => (law[word] > 0 ? x / law[word] : Infinity));
      return { times, word: times.indexOf(Math.min(...times)) };
    });
    lanes.forEach(({ runners, drawn }, word) => {
      drawn.textContent = decimal(effort[word]);
      runners.forEach((runner, i) => {
        const time = first[i].times[word];
        css(runner, { '--v': time < Infinity ? time / (time + 1) : 1 });
        runner.classList.toggle('first', first[i].word === word);
        runner.hidden = time === Infinity;
      });
    });
    const [a, b] = first.map(({ word }) => `${TOYS[word].face} ${text(`word.${TOYS[word].id}`)}`);
    ctx.tell(fig.narration, a === b ? 'same.agree' : 'same.differ', { n: now.t + 1, a, b });
  };
}

/** A text beside the target's own: under shared chance nothing moves, under coins only the law stays. */
function texts(root, ctx) {
  const fig = figure(root, 'same.text');
  const rule = choose(ctx, 'rule', 'sandbox.rule', ['coupled', 'token']);
  const [, q] = editors(ctx, 3).both;
  const gamma = dial(ctx, 'gamma', 'guess.gamma', { min: 1, max: 8, kind: 'q' });
  const lanes = ['same.plain', 'same.drafted'].map((word) => {
    const row = strip({ className: 'flow faces' });
    return { row, root: h('section', { class: 'lane' }, h('p', { class: 'lanehead' }, h('b', { w: word })), row.root) };
  });
  fig.stage.append(q.root, gamma.root, rule.root, ...lanes.map((lane) => lane.root), legend('accepted', 'recovered', 'bonus'));
  const another = () => ctx.set({ swaps: ctx.state.swaps + 1, q3: DRAFTS[ctx.state.swaps % DRAFTS.length] });
  fig.controls.append(button('same.swap', another, { primary: true }), button('sandbox.another', () => ctx.set({ seed: ctx.state.seed + 1 })));
  let kept = {};
  return (now, p, law) => {
    const name = now.rule === 'token' ? 'token' : 'coupled';
    const length = Math.max(1, Math.min(8, Math.round(now.gamma)));
    q.update(hundredths(now, 'q', 3));
    gamma.update(length);
    rule.update(name);
    const run = (rule, gamma) => write({ p, q: law, rule, seed: now.seed, gamma, count: COUNT });
    const key = `${p} ${now.seed}`;
    if (kept.key !== key) kept = { key, plain: run('coupled', 0) };
    const ours = run(name, length);
    const seen = [kept.plain, ours].map((trace) => roundsOf(trace).flatMap((round) => round.tokens));
    lanes.forEach((lane, i) => lane.row.update(seen[i]));
    const differ = seen[1].filter((token, i) => token.text !== seen[0][i].text).length;
    fig.root.classList.toggle('solved', differ === 0);
    ctx.tell(fig.narration, differ ? 'same.other' : 'same.still', { differ, tokens: COUNT, passes: ours.rounds.length });
  };
}

/** What sharing costs: acceptance of four ways to guess. */
function costs(root) {
  const fig = figure(root, 'same.cost');
  const chart = bars({ size: COSTS.length, kind: 'accepted', names: COSTS.map((id) => ({ id, face: '' })) });
  chart.root.classList.add('roomy');
  fig.stage.append(chart.root);
  return (p, q) => {
    const most = overlap(p, q);
    const apart = p.reduce((sum, x, i) => sum + x * q[i], 0);
    const all = [most, coupled(p, q), most / (2 - most), apart];
    chart.update(all, { texts: all.map((x) => percent(x, 1)) });
  };
}

export default {
  id: 'same',
  knobs: { rule: 'coupled', gamma: 4, swaps: 0, guess: -1 },
  mount(root, ctx) {
    const first = lottery(root, ctx);
    const { reveal, update } = bet(root, ctx, 'same', { answer: 2, open: () => false });
    const second = texts(reveal, ctx);
    const third = costs(reveal);
    prose(reveal, 'same.after');
    return (now) => {
      const { p, q } = laws(now, 3);
      update();
      first(now, p, q);
      second(now, p, q);
      third(p, q);
    };
  },
};
