// Playback: start again, back, play, step, and a slider over all steps. The step t lives in the state.
import { able, calm, h, shown } from './dom.js';
import { say } from './words.js';

/**
 * Controls for the steps 0..last of a figure.
 *
 * `pace(t)` is how many milliseconds step t is looked at before the next (default 900). Returns
 * {root, update(t, last), play(), pause(), playing()}; `ctx.state.t` moves, the figure's view follows.
 */
export function player(ctx, { pace = () => 900, word = 'play.slider' } = {}) {
  let last = 0;
  let timer = 0;
  const go = (t) => ctx.set({ t: Math.max(0, Math.min(last, t)) });
  const by = (step) => () => { pause(); go(ctx.state.t + step); };
  const restart = h('button', { type: 'button', l: 'play.restart', on: { click: () => { pause(); go(0); } } }, '|◀\uFE0E');
  const back = h('button', { type: 'button', l: 'play.back', on: { click: by(-1) } }, '◀\uFE0E');
  const toggle = h('button', { type: 'button', class: 'primary play', on: { click: () => (timer ? pause() : play()) } });
  const step = h('button', { type: 'button', l: 'play.step', on: { click: by(1) } }, '▶\uFE0E|');
  const slide = h('input', { type: 'range', min: 0, class: 'time', l: word,
    on: { input: () => { pause(); go(Number(slide.value)); } } });
  const count = h('output', { class: 'count' });
  const root = h('div', { class: 'player', role: 'group', l: 'play.group' }, toggle, restart, back, step, slide, count);

  function tick() {
    if (ctx.state.t >= last) return pause();
    go(ctx.state.t + 1);
    return schedule();
  }
  function schedule() { timer = setTimeout(tick, calm() ? Math.max(400, pace(ctx.state.t)) : pace(ctx.state.t)); }
  function play() {
    if (ctx.state.t >= last) go(0);
    clearTimeout(timer);
    schedule();
    paint();
  }
  function pause() { clearTimeout(timer); timer = 0; paint(); }
  function paint() { say(toggle, timer ? 'play.pause' : ctx.state.t >= last && last > 0 ? 'play.again' : 'play.play'); }

  function update(t, steps) {
    last = steps;
    slide.max = last;
    slide.value = t;
    slide.style.setProperty('--v', last ? t / last : 0);
    count.textContent = `${t} / ${last}`;
    slide.setAttribute('aria-valuetext', count.textContent);
    able(restart, t > 0);
    able(back, t > 0);
    able(step, t < last);
    if (timer && t >= last) pause(); else paint();
  }
  ctx.leave(pause);
  return { root, update, play, pause, playing: () => timer !== 0 };
}

/**
 * A bet before a reveal, put into `host`: question `<name>.bet`, options `<name>.b0` to `<name>.b2` unless others are given.
 *
 * The bet is kept in the knob `knob` (-1: none yet; 99: just look); `answer` says which option is right (a number, or a
 * function of the state), `values(state)` fills the placeholders. Returns {reveal, update(), revealed()}: what is put into
 * `reveal` stays hidden until a bet is placed, or a link leads to a question in it or to a later step (`open(state)`).
 */
export function bet(host, ctx, name, { answer, knob = 'guess', options = [0, 1, 2].map((i) => `${name}.b${i}`), values = () => ({}), open = ({ t }) => t > 0 }) {
  const question = `${name}.${knob === 'guess' ? 'bet' : 'bet2'}`;
  const reveal = h('div');
  const id = `bet-${knob}`;
  const choices = options.map((word, i) => h('button', { type: 'button', class: 'bet-option', w: word, values: values(ctx.state), on: { click: () => place(i) } }));
  const skip = h('button', { type: 'button', class: 'quiet', w: 'bet.skip', on: { click: () => place(99) } });
  const result = h('p', { class: 'verdict' });
  const asked = h('span', { w: question, values: values(ctx.state) });
  const root = h('section', { class: 'bet', 'aria-labelledby': id },
    h('p', { class: 'ask', id }, h('b', { w: 'bet.tag' }), ' ', asked),
    h('div', { class: 'options', role: 'group', l: 'bet.options' }, ...choices, skip), result);
  function place(i) {
    ctx.set({ [knob]: i });
    ctx.narrate(result.textContent);
  }
  const revealed = () => ctx.state[knob] >= 0 || ctx.state.at !== '' || open(ctx.state);
  function update() {
    const placed = ctx.state[knob];
    const filled = values(ctx.state);
    say(asked, question, filled);
    options.forEach((word, i) => say(choices[i], word, filled));
    const right = typeof answer === 'function' ? answer(ctx.state) : answer;
    choices.forEach((node, i) => {
      node.setAttribute('aria-pressed', String(placed === i));
      node.classList.toggle('right', placed >= 0 && i === right);
    });
    shown(skip, placed < 0);
    shown(result, placed >= 0);
    if (placed >= 0) say(result, placed === right ? 'bet.won' : placed === 99 ? 'bet.looked' : 'bet.lost', {});
    shown(reveal, revealed());
    root.classList.toggle('placed', placed >= 0);
  }
  host.append(root, reveal);
  return { reveal, update, revealed };
}
