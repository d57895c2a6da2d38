// Runs the lesson's twins outside the browser, for the tests: node twin.mjs JSDIR COMMAND < input.json > output.json
import { readFileSync } from 'node:fs';

const [, , folder, command] = process.argv;
const load = (name) => import(`file://${folder}/${name}.js`);
const input = JSON.parse(readFileSync(0, 'utf8'));

const commands = {
  /** Every round of trace files, decided anew: [[file, round, verdict]...]. */
  async decide() {
    const { decide, knows } = await load('verify');
    const { parseTrace } = await load('trace');
    return input.flatMap((file) => {
      const trace = parseTrace(readFileSync(file, 'utf8'));
      return trace.rounds.filter((round) => knows(round.verifier)).map((round) => [file, round.round, decide(trace.header, round)]);
    });
  },
  /** Whole answers written by the page, as the lines of a trace. */
  async write() {
    const { write } = await load('toy');
    return input.map((knobs) => write(knobs).lines);
  },
  /** Figures of pairs of laws. */
  async figures() {
    const theory = await load('theory');
    const { money } = await load('evidence');
    return input.map(({ p, q, counts, gamma, c }) => {
      const alpha = theory.overlap(p, q);
      return {
        alpha, tv: theory.variation(p, q), tokens: theory.tokensPerPass(alpha, gamma), speedup: theory.speedup(alpha, gamma, c),
        best: theory.bestLength(alpha, c), counts: theory.tokenCounts(alpha, gamma), coupled: theory.coupled(p, q), residual: theory.residual(p, q).law, evidence: money(counts, p, q),
      };
    });
  },
  /** Chapter 11's comparison of two orders, to its end. */
  async orders() {
    const { compare, ROUNDINGS } = await load('chapters/11-float');
    return input.map(({ kind, seed }) => {
      let last = null;
      for (const _ of compare(ROUNDINGS[kind], seed, (seen) => { last = { ...seen }; }));
      return last;
    });
  },
  /** Laws that the rules of chapter 7 lead to, exactly: by every drafted word and both sides of its coin. */
  async rules() {
    const { keeps, repair, RULES } = await load('rules');
    const { p, q } = input;
    return Object.fromEntries(RULES.map((rule) => {
      const law = p.map(() => 0);
      q.forEach((weight, word) => {
        const kept = keeps(rule, p, q, word, 0) ? (keeps(rule, p, q, word, 1 - 2 ** -53) ? 1 : Math.min(1, p[word] / weight)) : 0;
        law[word] += weight * kept;
        repair(rule, p, q, word).forEach((share, other) => { law[other] += weight * (1 - kept) * share; });
      });
      return [rule, law];
    }));
  },
};

process.stdout.write(JSON.stringify(await commands[command]()));
