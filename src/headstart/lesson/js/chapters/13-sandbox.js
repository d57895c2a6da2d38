// Chapter 13: the sandbox. All knobs, three words in the page or the engine on this machine; trace and link to take away.
import { clamp, decimal, h, percent, shown } from '../dom.js';
import { button, choose, dial, editors, figure, legend, strip, upright } from '../figure.js';
import { laws } from '../laws.js';
import * as live from '../live.js';
import { livePrompt } from '../liverun.js';
import { prose } from '../prose.js';
import { follow, RUNS } from '../runs.js';
import { flush } from '../state.js';
import { overlap } from '../theory.js';
import { write, TOY_RULES } from '../toy.js';
import { roundsOf } from '../trace.js';
import { say } from '../words.js';

/** How many passes made 1, 2, ... tokens, as columns. */
function histogram() {
  const { root, update } = upright();
  return { root, update(rounds) {
    const counts = [];
    for (const { tokens } of rounds) counts[tokens.length - 1] = (counts[tokens.length - 1] || 0) + 1;
    update(Array.from(counts, (count = 0, i) => ({ name: String(i + 1), value: count, text: String(count) })));
  } };
}

/** Hands a trace over as a file. */
function download(trace) {
  const url = URL.createObjectURL(new Blob([trace.lines], { type: 'application/x-ndjson' }));
  h('a', { href: url, download: 'headstart-trace.jsonl' }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Knobs of the toy world. */
function toyKnobs(ctx) {
  const both = editors(ctx, 3);
  const rule = choose(ctx, 'rule', 'sandbox.rule', Object.keys(TOY_RULES));
  const count = dial(ctx, 'count', 'sandbox.count', { min: 10, max: 300, step: 10 });
  const root = h('div', { class: 'knobs' }, both.root, rule.root, count.root);
  return { root, update(now) { both.update(now); rule.update(now.rule); count.update(now.count); } };
}

/** Knobs of a live run, and what they ask for. */
function liveKnobs(ctx, done) {
  const heat = dial(ctx, 'heat', 'sandbox.heat', { min: 0, max: 15 });
  const drafter = choose(ctx, 'drafter', 'sandbox.drafter', ['lookup', 'none']);
  const promise = choose(ctx, 'promise', 'sandbox.guarantee', ['text', 'law'], 'promise');
  const options = () => ({ temperature: ctx.state.heat / 10, seed: ctx.state.seed, drafter: ctx.state.drafter, draft_length: ctx.state.gamma, guarantee: ctx.state.promise });
  const root = h('div', { class: 'knobs' }, drafter.root, promise.root, heat.root, livePrompt(ctx, { options, done }));
  return { root, update(now) { heat.update(now.heat, decimal(now.heat / 10, 1)); drafter.update(now.drafter); promise.update(now.promise); } };
}

export default {
  id: 'sandbox',
  knobs: { source: 'toy', gamma: 4, rule: 'token', count: 60, heat: 0, drafter: 'lookup', promise: 'text' },
  mount(root, ctx) {
    const fig = figure(root, 'sandbox.fig');
    const sources = ['toy', ...RUNS, ...(live.available ? ['live'] : [])];
    const source = choose(ctx, 'source', 'sandbox.source', sources, 'run');
    const gamma = dial(ctx, 'gamma', 'guess.gamma', { min: 0, max: 8, kind: 'q' });
    const seed = h('input', { type: 'number', class: 'field', min: 0, max: 1e9, step: 1, on: { input: () => ctx.set({ seed: Math.max(0, Math.floor(Number(seed.value)) || 0) }) } });
    const seedRow = h('label', { class: 'choice' }, h('span', { w: 'sandbox.seed' }), seed);
    const toy = toyKnobs(ctx);
    let trace = null;
    const look = follow(ctx, (run) => { trace = run.drafted; draw(run.badge); });
    const mine = liveKnobs(ctx, () => { ctx.set({ source: 'live' }); look('live', true); });
    const text = strip({ className: 'flow' });
    const figures = h('p', { class: 'result' });
    const columns = histogram();
    fig.stage.append(source.root, toy.root, mine.root, gamma.root, seedRow, text.root, legend('accepted', 'recovered', 'bonus', 'plain'), figures,
      h('div', {}, h('p', { class: 'note', w: 'sandbox.hist' }), columns.root));
    const address = h('input', { type: 'text', class: 'field link', readonly: true, l: 'sandbox.address', on: { focus: () => address.select() } });
    const copy = button('sandbox.copy', () => { flush(); address.value = location.href; address.select(); navigator.clipboard?.writeText(location.href).then(() => ctx.tell(fig.narration, 'sandbox.copied')); });
    fig.controls.append(button('sandbox.another', () => ctx.set({ seed: ctx.state.seed + 1 }), { primary: true }), button('sandbox.save', () => trace && download(trace)), copy, address);
    prose(root, 'sandbox.after');

    function draw(badge) {
      const rounds = roundsOf(trace);
      const { tokens, tokens_drafted: drafted, tokens_accepted: accepted } = trace.result;
      fig.badge(badge);
      text.root.classList.toggle('faces', badge === 'whatif');
      text.update(rounds.flatMap((round) => round.tokens));
      columns.update(rounds);
      say(figures, 'sandbox.figures', { tokens, passes: rounds.length, rate: decimal(tokens / rounds.length, 2), kept: drafted ? percent(accepted / drafted) : '–',
        alpha: badge === 'whatif' ? decimal(overlap(...Object.values(laws(ctx.state, 3))), 2) : '–' });
    }
    return (now) => {
      source.update(now.source);
      gamma.update(now.gamma);
      if (document.activeElement !== seed) seed.value = now.seed;
      toy.update(now);
      mine.update(now);
      shown(toy.root, now.source === 'toy');
      shown(mine.root, live.available && now.source === 'live');
      for (const node of [gamma.root, seedRow]) shown(node, now.source === 'toy' || now.source === 'live');
      address.value = location.href;
      if (now.source !== 'toy') return look(now.source);
      trace = write({ ...laws(now, 3), rule: now.rule in TOY_RULES ? now.rule : 'token', seed: now.seed, gamma: now.gamma, count: clamp(now.count, 1, 300) });
      return draw('whatif');
    };
  },
};
