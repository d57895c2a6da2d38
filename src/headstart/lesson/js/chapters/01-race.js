// Chapter 1: the race. One text, two lanes: the big model alone, and guess-and-check.
import { calm, css, decimal, h } from '../dom.js';
import { figure, legend, strip } from '../figure.js';
import { bet, player } from '../player.js';
import { prose } from '../prose.js';
import { clock, follow, RUNS, runChoice } from '../runs.js';
import { livePrompt } from '../liverun.js';
import { say } from '../words.js';

const SHOW_MS = 15000; // how long a whole race is watched, however short it was

/** One lane: a name, counters, a bar, and the text with its future already laid out. */
function lane(word) {
  const counts = h('output', { class: 'counts' });
  const done = h('i', { class: 'fill' });
  const words = strip({ className: 'flow' });
  const root = h('section', { class: 'lane' }, h('p', { class: 'lanehead' }, h('b', { w: word }), counts), h('div', { class: 'track thin' }, done), words.root);
  const update = (rounds, time) => {
    const passes = rounds.filter((round) => round.end <= time + 1e-9).length;
    const tokens = rounds.flatMap((round, i) => round.tokens.map((token) => ({ ...token, future: i >= passes })));
    const landed = tokens.filter((token) => !token.future).length;
    words.update(tokens);
    css(done, { '--v': landed / tokens.length });
    const end = rounds[rounds.length - 1].end;
    say(counts, 'race.counts', { passes, ms: decimal(1000 * Math.min(time, end), 0) });
    root.classList.toggle('finished', passes === rounds.length);
    return { passes, landed };
  };
  return { root, update };
}

export default {
  id: 'race',
  knobs: { run: RUNS[0], guess: -1 },
  mount(root, ctx) {
    const fig = figure(root, 'race.fig', 'trace');
    const lanes = [lane('race.plain'), lane('race.drafted')];
    fig.stage.append(...lanes.map((one) => one.root), legend('plain', 'accepted', 'recovered', 'bonus'));
    const times = [0];
    const scale = () => SHOW_MS / Math.max(times[times.length - 1], 1e-6);
    const controls = player(ctx, { pace: (t) => Math.max(16, (times[t + 1] - times[t]) * scale()) });
    const runs = runChoice(RUNS.slice(0, 3), (run) => { controls.pause(); ctx.set({ run, t: 0 }); controls.play(); });
    fig.controls.append(controls.root, runs.root, livePrompt(ctx, { compare: true, done: () => { ctx.set({ run: 'live', t: 0 }); look('live', true); controls.play(); } }));
    const facts = h('p', { class: 'note' });
    fig.root.append(facts);
    const result = h('p', { class: 'result' });
    const { reveal, update } = bet(root, ctx, 'race', { options: ['race.same', 'race.nearly', 'race.other'], answer: 0, open: () => false });
    reveal.append(result);
    prose(root, 'race.how');
    root.append(h('ul', { class: 'asks' }, ...[['lunch', 'cost'], ['proof', 'worse'], ['residual', 'resample'], ['guess', 'longer']]
      .map(([chapter, at]) => h('li', {}, h('a', { 'data-chapter': chapter, 'data-at': at, w: `${at}.q` })))));

    let run = null;
    let first = true;

    function draw() {
      const now = ctx.state;
      const t = Math.min(now.t, times.length - 1);
      const [plain, drafted] = lanes.map((one, i) => one.update(i ? run.drafted : run.plain, times[t]));
      controls.update(t, times.length - 1);
      const ended = t === times.length - 1;
      const [slow, fast] = [run.plain, run.drafted].map((rounds) => rounds[rounds.length - 1].end);
      const ratio = decimal(slow / fast, 2);
      const [one, other] = [run.plain, run.drafted].map((rounds) => rounds.flatMap((round) => round.tokens));
      const same = one.findIndex((token, i) => token.text !== other[i]?.text);
      if (ended && same >= 0) ctx.tell(result, 'race.differ', { n: same + 1 });
      else if (ended) ctx.tell(result, 'race.result', { passes: plain.passes, fewer: drafted.passes, ratio, tokens: plain.landed });
      else say(result, 'race.wait', {});
      say(facts, 'race.facts', { slow: decimal(SHOW_MS / (1000 * slow), 0) });
    }

    /** Takes the chosen run, and lets it run at once the first time. */
    const look = follow(ctx, (loaded) => {
      if (!loaded.plain) return void ctx.set({ run: RUNS[0] });
      run = { plain: clock(loaded.plain), drafted: clock(loaded.drafted) };
      const ends = new Set([0, ...run.plain.map((r) => r.end), ...run.drafted.map((r) => r.end)]);
      times.splice(0, times.length, ...[...ends].sort((a, b) => a - b));
      fig.badge(loaded.badge);
      draw();
      if (first && !calm() && ctx.state.t === 0) controls.play();
      first = false;
    });
    return (now) => {
      runs.update(now.run);
      update();
      look(now.run);
      if (run) draw();
    };
  },
};
