// The engine on this machine, when `headstart lesson` serves the page; on a static host there is none.

/** Whether a live engine stands behind this page: the server says so in the page itself, so nothing is probed. */
export const available = document.querySelector('meta[name=engine]').content === 'live';

/** Starts 'run' or 'measure' with what the server shall check and do; on(event, data) gets its events, errors too. Returns how to stop. */
export function start(path, body, on) {
  const stop = new AbortController();
  run(path, body, on, stop.signal).catch((problem) => {
    if (problem.name !== 'AbortError') on('error', { code: 'lost' });
  });
  return () => stop.abort();
}

async function run(path, body, on, signal) {
  const answer = await fetch(`api/${path}`, {
    method: 'POST', signal, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (waiting + value).split('\n\n');
    waiting = blocks.pop();
    for (const block of blocks) emit(block, on);
  }
}

/** One server-sent event: an `event:` line and a `data:` line. */
function emit(block, on) {
  const fields = Object.fromEntries(block.split('\n').filter((line) => line.includes(': '))
    .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
  if (fields.data) on(fields.event || 'message', JSON.parse(fields.data));
}
