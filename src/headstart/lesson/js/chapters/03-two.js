// Chapter 3: p and q over two words, to drag; what each draws; where they agree.
import { columns } from '../columns.js';
import { pick, roundCoins } from '../coins.js';
import { h, percent } from '../dom.js';
import { button, figure, lawEditor, legend, TOYS } from '../figure.js';
import { bet } from '../player.js';
import { prose, refill } from '../prose.js';
import { overlap } from '../theory.js';
import { label, say } from '../words.js';

const COUNT = 100;

/** A crowd of draws from a law, as faces. */
function crowd(who) {
  const faces = h('div', { class: `crowd ${who}`, role: 'img' });
  const count = h('p', { class: 'note' });
  const update = (law, seed, stream) => {
    const coins = roundCoins(seed, 0, 0);
    const drawn = Array.from({ length: COUNT }, (_, i) => pick(law, coins.draw(stream, i))).sort();
    faces.replaceChildren(...drawn.map((word) => h('span', {}, TOYS[word].face)));
    const love = drawn.filter((word) => word === 0).length;
    label(faces, 'two.crowd', { love, hate: COUNT - love });
    say(count, 'two.crowd', { love, hate: COUNT - love });
  };
  return { nodes: [faces, count], update };
}

export default {
  id: 'two',
  knobs: { guess: -1 },
  mount(root, ctx) {
    prose(root, 'two.lead').classList.add('lead');
    const fig = figure(root, { title: 'two.fig' });
    const p = lawEditor({ who: 'p', size: 2, set: ([love]) => ctx.set({ p: love }) });
    const q = lawEditor({ who: 'q', size: 2, set: ([love]) => ctx.set({ q: love }) });
    const crowds = [crowd('p'), crowd('q')];
    fig.stage.append(h('div', { class: 'columns' }, h('div', {}, p.root, ...crowds[0].nodes), h('div', {}, q.root, ...crowds[1].nodes)));
    fig.controls.append(
      button('two.again', () => ctx.set({ seed: ctx.state.seed + 1 }), { primary: true }),
      button('two.reset', () => ctx.set({ p: 60, q: 20, seed: 1 })));
    prose(root, 'two.job');
    const answer = h('div');
    const wager = bet(ctx, { knob: 'guess', question: 'two.bet', options: ['two.never', 'two.some'],
      values: ({ p: a, q: b }) => ({ p: a, q: b }), answer: ({ p: a, q: b }) => (a >= b ? 0 : 1), reveal: answer });
    root.append(wager.root, answer);
    const picture = columns(2);
    const second = figure(answer, { title: 'two.overlap' });
    second.stage.append(picture.root, legend('accepted', 'rejected', 'p'));
    const after = prose(answer, 'two.after', {});
    return (now) => {
      const laws = { p: [now.p / 100, 1 - now.p / 100], q: [now.q / 100, 1 - now.q / 100] };
      p.update([now.p, 100 - now.p]);
      q.update([now.q, 100 - now.q]);
      crowds[0].update(laws.p, now.seed, 'recover');
      crowds[1].update(laws.q, now.seed, 'propose');
      picture.update({ ...laws, judged: true });
      wager.update();
      refill(after, { alpha: percent(overlap(laws.p, laws.q)) });
    };
  },
};
