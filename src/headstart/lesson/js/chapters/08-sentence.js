// Chapter 8: a sentence, round by round: a run of guesses, one pass, the longest accepted prefix, then fix or bonus.
import { decimal, h } from '../dom.js';
import { figure, gauge, legend, strip } from '../figure.js';
import { bet, player } from '../player.js';
import { prose } from '../prose.js';
import { follow, RUNS, runChoice } from '../runs.js';
import { roundsOf, tokenText } from '../trace.js';
import { excess, prob } from '../verify.js';
import { say } from '../words.js';

/** The moments of a trace: for each round the guess, the pass, each verdict, and what follows. */
function moments(trace) {
  return trace.rounds.flatMap((round, i) => {
    const kept = round.verdict.path.length;
    const lost = round.verdict.kind === 'recovered' ? 1 : 0;
    if (!round.draft.tokens.length) return [{ round: i, phase: 'plain', upto: 0 }];
    const checks = Array.from({ length: kept + lost }, (_, k) => ({ round: i, phase: k < kept ? 'accepted' : 'rejected', upto: k + 1 }));
    return [{ round: i, phase: 'guess', upto: 0 }, { round: i, phase: 'pass', upto: 0 }, ...checks, { round: i, phase: 'end', upto: kept + lost }];
  });
}

/** The guesses of one round as they look at a moment. */
function guesses(trace, round, moment) {
  const { tokens, parents } = round.draft;
  const { path, kind, token } = round.verdict;
  const seen = path.slice(0, moment.upto);
  const last = path.length ? path[path.length - 1] : -1;
  const judged = moment.upto > path.length || moment.phase === 'end';
  const list = tokens.map((id, node) => {
    const turned = judged && parents[node] === last && !path.includes(node);
    const state = seen.includes(node) ? 'accepted' : turned ? 'rejected' : 'draft';
    return { text: tokenText(trace, id), kind: state, gone: judged && state === 'draft' };
  });
  if (moment.phase === 'end' || moment.phase === 'plain') list.push({ text: tokenText(trace, token), kind });
  return list;
}

/** Probabilities and coins of one round, a line a guess, as the trace holds them. */
function lines(trace, round) {
  const coin = (node) => round.coins.find((c) => c.stream === 'accept' && c.node === node);
  return round.draft.tokens.map((id, node) => {
    const law = round.laws[round.draft.parents[node]];
    if (!law) return null;
    const q = round.draft_laws[node] ? prob(round.draft_laws[node], id) : 1;
    const p = prob(law, id);
    const thrown = coin(node);
    return { token: tokenText(trace, id), p, q, u: thrown ? decimal(thrown.u, 3) : '–', kept: round.verdict.path.includes(node) };
  }).filter(Boolean);
}

function cells(...texts) { return texts.map((text) => h('td', {}, text)); }

/** The table of one round, and what the repair was drawn from. */
function table() {
  const body = h('tbody');
  const rest = h('p', { class: 'note' });
  const heads = ['token', 'q', 'p', 'u', 'kept'].map((name) => h('th', { scope: 'col', w: `sentence.h.${name}` }));
  const root = h('details', { class: 'numbers' }, h('summary', { w: 'sentence.numbers' }), h('div', { class: 'scroll', tabindex: 0, role: 'region', l: 'sentence.numbers' }, h('table', {}, h('thead', {}, h('tr', {}, ...heads)), body)), rest);
  const update = (trace, round) => {
    body.replaceChildren(...lines(trace, round).map((line) => h('tr', {}, ...cells(line.token, decimal(line.q, 3), decimal(line.p, 3), line.u),
      h('td', {}, h('span', { class: `mark ${line.kept ? 'accepted' : 'rejected'}`, w: `kind.${line.kept ? 'accepted' : 'rejected'}` })))));
    const { path, kind, token } = round.verdict;
    const lost = round.draft.parents.indexOf(path.length ? path[path.length - 1] : -1);
    const law = round.laws[path.length ? path[path.length - 1] : -1];
    const drawn = round.draft_laws[lost];
    const mass = kind === 'recovered' && law && drawn ? excess(law, drawn).mass : null;
    say(rest, `sentence.${kind}`, { token: tokenText(trace, token), mass: mass === null ? '–' : decimal(mass, 3) });
  };
  return { root, update };
}

export default {
  id: 'sentence',
  knobs: { run: RUNS[0], guess: -1 },
  mount(root, ctx) {
    const { reveal, update } = bet(root, ctx, 'sentence', { answer: 1 });
    const fig = figure(reveal, 'sentence.fig', 'trace');
    const text = strip({ className: 'flow tall' });
    const row = strip({ className: 'guess' });
    const numbers = table();
    const ours = gauge('sentence.ours', 'accepted');
    const alone = gauge('sentence.alone', 'plain');
    const where = h('p', { class: 'who' });
    fig.stage.append(text.root, where, row.root, legend('draft', 'accepted', 'rejected', 'recovered', 'bonus'), h('div', {}, ours.root, alone.root), numbers.root);
    const pace = { guess: 900, pass: 700, accepted: 450, rejected: 900, end: 900, plain: 500 };
    let film = [];
    let trace = null;
    const controls = player(ctx, { pace: (t) => pace[film[t]?.phase] || 700 });
    const runs = runChoice(RUNS, (run) => { controls.pause(); ctx.set({ run, t: 0 }); });
    fig.controls.append(controls.root, runs.root);
    prose(reveal, 'sentence.after');

    const look = follow(ctx, (run) => {
      trace = run.drafted;
      film = moments(trace);
      fig.badge(run.badge);
      draw();
    });
    function draw() {
      const t = Math.min(ctx.state.t, film.length - 1);
      const moment = film[t];
      const rounds = roundsOf(trace);
      const round = trace.rounds[moment.round];
      const landed = moment.phase === 'end' || moment.phase === 'plain';
      const before = rounds.slice(0, moment.round + (landed ? 1 : 0)).flatMap((r) => r.tokens);
      text.update(before);
      row.update(guesses(trace, round, moment));
      numbers.update(trace, round);
      const passes = moment.round + (moment.phase === 'guess' ? 0 : 1);
      ours.update(passes / trace.result.tokens, passes);
      alone.update(before.length / trace.result.tokens, before.length);
      controls.update(t, film.length - 1);
      say(where, 'sentence.where', { n: moment.round + 1, of: rounds.length });
      const values = { k: round.draft.tokens.length, rows: round.draft.tokens.length + 1, token: tokenText(trace, round.verdict.token).trim(), made: rounds[moment.round].tokens.length };
      ctx.tell(fig.narration, moment.phase === 'end' ? `sentence.t.${round.verdict.kind}` : `sentence.t.${moment.phase}`, values);
    }
    return (now) => {
      runs.update(now.run);
      update();
      look(now.run);
      if (trace) draw();
    };
  },
};
