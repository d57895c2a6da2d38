// Chapter 5: the proof, one step at a time, with the reader's own numbers, drawn as areas.
import { columns } from '../columns.js';
import { decimal, h, percent, shown } from '../dom.js';
import { editors, figure, legend, TOYS } from '../figure.js';
import { laws } from '../laws.js';
import { bet, player } from '../player.js';
import { prose, question } from '../prose.js';
import { keep, overlap, residual } from '../theory.js';
import { say } from '../words.js';

const LAST = 6;
const show = (x) => decimal(x, 3);

/** The lines of the proof for one word, from its numbers. */
function lines(p, q, i) {
  const coin = keep(p, q)[i];
  const rest = residual(p, q);
  const kept = Math.min(p[i], q[i]);
  const lost = 1 - overlap(p, q);
  const law = rest.mass > 0 ? rest.law[i] : 0;
  return [null, show(q[i]), `${show(q[i])} × ${show(coin)} = ${show(kept)}`, null, show(law),
    `${show(lost)} × ${show(law)} = ${show(rest.left[i])}`, `${show(kept)} + ${show(rest.left[i])} = ${show(p[i])}`];
}

export default {
  id: 'proof',
  knobs: { guess: -1 },
  mount(root, ctx) {
    const { reveal, update } = bet(root, ctx, 'proof', { answer: 2 });
    const fig = figure(reveal, 'proof.fig');
    const picture = columns(2);
    const steps = h('ol', { class: 'prooflines' });
    const rows = Array.from({ length: LAST }, (_, k) => {
      const cells = TOYS.slice(0, 2).map((toy) => ({ face: toy.face, node: h('span', { class: 'math' }) }));
      const whole = h('span', { class: 'math' });
      const row = h('li', {}, h('span', { w: `proof.l${k + 1}` }),
        ...(k === 2 ? [whole] : cells.map((c) => h('span', { class: 'pair' }, `${c.face} `, c.node))));
      steps.append(row);
      return { row, cells, whole };
    });
    fig.stage.append(picture.root, legend('p', 'q', 'accepted', 'rejected', 'recovered'), steps);
    const controls = player(ctx, { pace: () => 3200 });
    fig.controls.append(controls.root);
    const knobs = editors(ctx, 2);
    const own = figure(reveal, 'proof.own');
    own.stage.append(knobs.root);
    prose(reveal, 'proof.after');
    question(reveal, 'proof', 'worse');
    let told = -1;

    return (now) => {
      const t = Math.min(now.t, LAST);
      const { p, q } = laws(now, 2);
      knobs.update(now);
      update();
      controls.update(t, LAST);
      picture.update({ p, q, drafted: t >= 1, judged: t >= 2, gaps: t === 4, moved: t >= 5 });
      const both = [0, 1].map((i) => lines(p, q, i));
      rows.forEach(({ row, cells, whole }, k) => {
        shown(row, t >= k + 1);
        row.classList.toggle('current', t === k + 1);
        cells.forEach((c, i) => { c.node.textContent = both[i][k + 1] || ''; });
        whole.textContent = `1 − ${show(overlap(p, q))} = ${show(1 - overlap(p, q))}`;
      });
      const values = { p: percent(p[0]), q: percent(q[0]) };
      if (told !== t) ctx.tell(fig.narration, `proof.s${t}`, values); else say(fig.narration, `proof.s${t}`, values);
      told = t;
    };
  },
};
