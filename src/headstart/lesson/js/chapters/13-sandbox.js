// Chapter 13: the sandbox. All knobs, three words in the page or the engine on this machine; trace and link to take away.
import { clamp, css, decimal, h, percent, shown } from '../dom.js';
import { button, choice, editors, figure, legend, slider, strip } from '../figure.js';
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

/** How many tokens each pass made, as columns. */
function histogram() {
  const root = h('div', { class: 'hist', role: 'img' });
  const update = (rounds) => {
    const counts = [];
    for (const round of rounds) counts[round.tokens.length] = (counts[round.tokens.length] || 0) + 1;
    const most = Math.max(...counts.filter(Boolean));
    root.replaceChildren(...Array.from({ length: counts.length - 1 }, (_, i) => {
      const count = counts[i + 1] || 0;
      const column = h('div', {}, h('output', {}, String(count)), h('i'), h('small', {}, String(i + 1)));
      css(column, { '--v': count / most });
      return column;
    }));
    root.setAttribute('aria-label', counts.map((count, i) => `${i}: ${count || 0}`).slice(1).join(', '));
  };
  return { root, update };
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
  const rule = choice('sandbox.rule', Object.keys(TOY_RULES).map((value) => ({ value, word: `sandbox.${value}` })), (value) => ctx.set({ rule: value }));
  const count = slider('sandbox.count', { min: 10, max: 300, step: 10 }, (value) => ctx.set({ count: value }));
  const root = h('div', { class: 'knobs' }, both.root, rule.root, count.root);
  return { root, update(now) { both.update(now); rule.update(now.rule); count.update(now.count); } };
}

/** Knobs of a live run, and what they ask for. */
function liveKnobs(ctx, done) {
  const heat = slider('sandbox.heat', { min: 0, max: 15 }, (value) => ctx.set({ heat: value }));
  const drafter = choice('sandbox.drafter', ['lookup', 'none'].map((value) => ({ value, word: `sandbox.${value}` })), (value) => ctx.set({ drafter: value }));
  const promise = choice('sandbox.guarantee', ['text', 'law'].map((value) => ({ value, word: `sandbox.g.${value}` })), (value) => ctx.set({ promise: value }));
  const options = () => ({ temperature: ctx.state.heat / 10, seed: ctx.state.seed, drafter: ctx.state.drafter, draft_length: ctx.state.gamma, guarantee: ctx.state.promise });
  const root = h('div', { class: 'knobs' }, drafter.root, promise.root, heat.root, livePrompt(ctx, { options, done }));
  return { root, update(now) { heat.update(now.heat, decimal(now.heat / 10, 1)); drafter.update(now.drafter); promise.update(now.promise); } };
}

export default {
  id: 'sandbox',
  knobs: { source: 'toy', gamma: 4, rule: 'token', count: 60, heat: 0, drafter: 'lookup', promise: 'text' },
  mount(root, ctx) {
    prose(root, 'sandbox.lead').classList.add('lead');
    const fig = figure(root, { title: 'sandbox.fig' });
    const sources = ['toy', ...RUNS, ...(live.available ? ['live'] : [])];
    const source = choice('sandbox.source', sources.map((value) => ({ value, word: value === 'toy' ? 'sandbox.toy' : `run.${value}` })), (value) => ctx.set({ source: value }));
    const gamma = slider('sandbox.gamma', { min: 0, max: 8 }, (value) => ctx.set({ gamma: value }));
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
