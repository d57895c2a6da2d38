// Traces of the engine (docs/trace.md), recorded or live: read once, and looked at as rounds of tokens.

const loaded = new Map();

/** A recorded trace by name, from traces/<name>.jsonl. */
export function loadTrace(name) {
  if (!loaded.has(name)) loaded.set(name, fetch(`traces/${name}.jsonl`).then((answer) => answer.text()).then(parseTrace));
  return loaded.get(name);
}

/** Recorded figures by name, from traces/<name>.json. */
export const loadJson = (name) => fetch(`traces/${name}.json`).then((answer) => answer.json());

/** A trace file's text as {header, rounds, result, timings, lines}. */
export function parseTrace(lines) {
  const records = lines.trim().split('\n').map((line) => JSON.parse(line));
  const one = (type) => records.find((record) => record.type === type);
  return { header: one('header'), rounds: records.filter((r) => r.type === 'round'), result: one('result'), timings: one('timings'), lines };
}

/** The text of a token id; bytes that are only part of a character show as a box, a token without text as an end mark. */
export function tokenText(trace, id) {
  if (trace.result.special_ids?.includes(id)) return '\u220e';
  const words = trace.result.vocabulary[id];
  return typeof words === 'string' ? words : '\u25a1';
}

/** Rounds as the figures see them: tokens committed and their kinds, the guess, the seconds (1 a pass where none were taken). */
export function roundsOf(trace) {
  return trace.rounds.map((round, i) => {
    const { draft_s: draft, pass_s: pass, verify_s: verify } = trace.timings?.rounds[i] || { draft_s: 0, pass_s: 1, verify_s: 0 };
    return {
      seconds: draft + pass + verify,
      drafted: round.draft.tokens.length,
      tokens: round.committed.map((id, k) => ({
        text: tokenText(trace, id), kind: k < round.verdict.path.length ? 'accepted' : round.verdict.kind,
      })),
    };
  });
}
