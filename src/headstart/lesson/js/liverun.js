// A prompt of the reader's own, run by the engine on this machine; nothing is shown where there is none.
import { h, shown } from './dom.js';
import { button } from './figure.js';
import * as live from './live.js';
import { keepLive } from './runs.js';
import { say } from './words.js';

const MOST = 128;

/**
 * A field for a prompt and a button. `options()` adds to what is run; `done(run)` is called with the finished traces.
 * Returns a node, empty on a static host.
 */
export function livePrompt(ctx, { compare = false, options = () => ({}), done }) {
  if (!live.available) return h('span', { hidden: true });
  const prompt = h('textarea', { rows: 2, l: 'live.prompt', maxlength: 2000 });
  const state = h('p', { class: 'note', role: 'status' });
  let stop = null;
  const go = button('live.run', () => (stop ? halt() : begin()));
  prompt.value = 'Why is the sky blue?';
  const root = h('div', { class: 'live' }, prompt, go, state);

  function begin() {
    const traces = {};
    say(go, 'live.stop');
    say(state, 'live.wait');
    let tokens = 0;
    stop = live.start('run', { prompt: prompt.value, max_tokens: MOST, compare, ...options() }, (event, data) => {
      if (event === 'loading') say(state, 'live.loading');
      if (event === 'piece') { tokens += data.tokens; say(state, 'live.running', { tokens, lane: data.lane }); }
      if (event === 'trace') traces[data.lane] = data.lines;
      if (event === 'error') { halt(); say(state, `live.${data.code}`, { message: data.message || '' }); }
      if (event === 'done') { halt(); say(state, 'live.done'); done(keepLive(traces.drafted, traces.plain)); }
    });
  }
  function halt() {
    stop?.();
    stop = null;
    say(go, 'live.run');
    say(state, 'live.stopped');
  }
  ctx.leave(() => stop?.());
  shown(root, true);
  return root;
}
