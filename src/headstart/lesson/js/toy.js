// A whole answer in the page: three words, any p and q, the engine's coins and rules, written as a trace of the engine.
import { roundCoins } from './coins.js';
import { TOYS } from './figure.js';
import { decide, draw, race } from './verify.js';

/** Rules of the toy world; each with the guarantee it carries. */
export const TOY_RULES = { token: 'law', block: 'law', coupled: 'text' };

/** One round's draft: gamma tokens of q, by coins of their own or by the target's noise. */
function propose({ q, rule, seed, gamma }, round, position) {
  const coins = roundCoins(seed, 0, round);
  const nodes = Array.from({ length: gamma }, (_, i) => i);
  const drawn = nodes.map((node) => {
    if (rule === 'coupled') return { token: race({ weights: q }, coins, position + node) };
    const u = coins.draw('propose', node);
    return { stream: 'propose', node, u, ...draw({ weights: q }, u) };
  });
  return {
    draft: { tokens: drawn.map((d) => d.token), parents: nodes.map((node) => node - 1), origins: nodes.map(() => (rule === 'coupled' ? 'coupled' : 'sampled')) },
    draft_laws: rule === 'coupled' ? {} : Object.fromEntries(nodes.map((node) => [node, { weights: q }])),
    coins: rule === 'coupled' ? [] : drawn,
  };
}

/** Laws that the rule looked at: the trace keeps those, as the engine does. */
function watched(laws) {
  const seen = new Set();
  return { seen, laws: new Proxy(laws, { get: (all, node) => { seen.add(node); return all[node]; } }) };
}

/** Writes `count` tokens and gives the trace: {header, rounds, result, timings, lines}. */
export function write({ p, q, rule, seed, gamma, count }) {
  const header = {
    type: 'header', format: 'headstart-trace', version: 1, model: { name: 'three words', fingerprint: null, vocab_size: 3 }, numerics_id: 'page',
    guarantee: TOY_RULES[rule], drafter: 'model', seed: String(seed), choice: 0, sampling: { temperature: 1 }, max_tokens: count, eos_ids: [], prompt: [0],
  };
  const rounds = [];
  const output = [];
  let accepted = 0;
  let drafted = 0;
  while (output.length < count) {
    const position = output.length + 1;
    const guess = propose({ q, rule, seed, gamma: Math.min(gamma, count - output.length - 1) }, rounds.length, position);
    const all = Object.fromEntries([-1, ...guess.draft.tokens.keys()].map((node) => [node, { weights: p }]));
    const watch = watched(all);
    const record = { type: 'round', round: rounds.length, position, verifier: rule, draft: guess.draft, laws: watch.laws, draft_laws: guess.draft_laws };
    const coins = [...guess.coins];
    const verdict = decide(header, record, coins);
    const committed = [...verdict.path.map((node) => guess.draft.tokens[node]), verdict.token].slice(0, count - output.length);
    output.push(...committed);
    drafted += guess.draft.tokens.length;
    accepted += Math.min(committed.length, verdict.path.length);
    const laws = Object.fromEntries([...watch.seen].sort((a, b) => a - b).map((node) => [node, all[node]]));
    rounds.push({ ...record, laws, coins, verdict, committed });
  }
  const result = {
    type: 'result', finish_reason: 'length', stop_reason: 'max_tokens', rounds: rounds.length, tokens: output.length, tokens_drafted: drafted,
    tokens_accepted: accepted, text: output.map((id) => TOYS[id].face).join(''), special_ids: [],
    vocabulary: Object.fromEntries(TOYS.map((toy, id) => [id, toy.face])),
  };
  const lines = `${[header, ...rounds, result].map((record) => JSON.stringify(record)).join('\n')}\n`;
  return { header, rounds, result, timings: null, lines };
}
