// Chapter 3: p and q over two words, to drag; what each draws; where they agree.
import { columns } from '../columns.js';
import { pick, roundCoins } from '../coins.js';
import { h, percent } from '../dom.js';
import { button, editors, figure, legend, TOYS } from '../figure.js';
import { laws } from '../laws.js';
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
    const fig = figure(root, 'two.fig');
    const knobs = editors(ctx, 2);
    const crowds = [crowd('p'), crowd('q')];
    knobs.both.forEach((one, i) => one.root.append(...crowds[i].nodes));
    fig.stage.append(knobs.root);
    fig.controls.append(
      button('two.again', () => ctx.set({ seed: ctx.state.seed + 1 }), { primary: true }),
      button('two.reset', () => ctx.set({ p: 60, q: 20, seed: 1 })));
    prose(root, 'two.job');
    const { reveal, update } = bet(root, ctx, 'two', { options: ['two.never', 'two.some'],
      values: ({ p: a, q: b }) => ({ p: a, q: b }), answer: ({ p: a, q: b }) => (a >= b ? 0 : 1) });
    const picture = columns(2);
    const second = figure(reveal, 'two.overlap');
    second.stage.append(picture.root, legend('accepted', 'rejected', 'p'));
    const after = prose(reveal, 'two.after');
    return (now) => {
      const { p, q } = laws(now, 2);
      knobs.update(now);
      crowds[0].update(p, now.seed, 'recover');
      crowds[1].update(q, now.seed, 'propose');
      picture.update({ p, q, judged: true });
      update();
      refill(after, { alpha: percent(overlap(p, q)) });
    };
  },
};
