// The runs that can be looked at: recorded ones by name, and the last live one.
import { choice } from './figure.js';
import { available } from './live.js';
import { loadTrace, parseTrace, roundsOf } from './trace.js';

/** Recorded runs; 'law' has no plain run beside it, since there only the distribution is the same. */
export const RUNS = ['copy', 'code', 'chat', 'law'];

let last = null;

/** Takes over a live run: trace files of the drafted and the plain answer. */
export function keepLive(drafted, plain) {
  last = { drafted: parseTrace(drafted), plain: plain ? parseTrace(plain) : null };
  return last;
}

/** A run as {drafted, plain, badge}: two traces, the second null where there is none; without a live run yet, a recorded one. */
export async function loadRun(name) {
  if (name === 'live' && last) return { ...last, badge: 'live' };
  const known = RUNS.includes(name) ? name : RUNS[0];
  const [drafted, plain] = await Promise.all([loadTrace(known), known === 'law' ? null : loadTrace(`${known}-plain`)]);
  return { drafted, plain, badge: 'trace' };
}

/** A choice among runs; `names` are offered, and the reader's own where there is an engine. */
export const runChoice = (names, fn) => choice('run.choose', [...names, ...(available ? ['live'] : [])], 'run', fn);

/** Hands over the run that the state names, whenever the name changes and the reader is still there: look(name, anew). */
export function follow(ctx, take) {
  let wanted = '';
  let gone = false;
  ctx.leave(() => { gone = true; });
  return (name, anew = false) => {
    if (name === wanted && !anew) return;
    wanted = name;
    loadRun(name).then((run) => { if (!gone && name === wanted) take(run); });
  };
}

/** When each round ends, in seconds from the first. */
export function clock(trace) {
  let now = 0;
  return roundsOf(trace).map((round) => { now += round.seconds; return { ...round, end: now }; });
}
