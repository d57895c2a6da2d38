// The picture of the proof: one column a word, kept mass at the bottom, rejected mass that moves into the gaps.
import { areas, TOYS } from './figure.js';
import { css, h } from './dom.js';
import { residual } from './theory.js';

const TOP = 0.96;

/**
 * Columns for p and q. Returns {root, update({p, q, drafted, judged, moved, gaps, faint, outline})}:
 * drafted shows q's mass, judged colours what is kept and rejected, moved lets the rejected mass slide to where p is
 * short, gaps marks where p is short, outline draws p. The most probable word reaches the top.
 */
export function columns(size) {
  const picture = areas({ ratio: size === 2 ? 2 : 2.1 });
  const names = h('div', { class: 'colnames' }, ...TOYS.slice(0, size).map((toy) => h('span', {}, `${toy.face} `, h('span', { w: `word.${toy.id}` }))));
  css(names, { '--n': size });
  const root = h('div', {}, picture.root, names);
  return { root, update: (now) => picture.update(layout(now)) };
}

function layout({ p, q, drafted = true, judged = false, moved = false, gaps = false, outline = true }) {
  const scale = TOP / Math.max(...p, ...q, 0.01);
  const n = p.length;
  const kept = p.map((x, i) => Math.min(x, q[i]));
  const box = (key, i, from, mass, kind, text) =>
    ({ key, x: (i + 0.14) / n, w: 0.72 / n, y: from * scale, h: mass * scale, kind, text });
  const show = (mass) => `${Number((100 * mass).toFixed(1))}%`;
  const list = [];
  const surplusKind = judged ? 'rejected' : 'q';
  const { left, law } = residual(p, q);
  const height = drafted ? 1 : 0;
  p.forEach((_, i) => list.push(box(`k${i}`, i, 0, kept[i] * height, judged ? 'accepted' : 'q', show(kept[i]))));
  const filled = kept.slice();
  p.forEach((_, i) => {
    let at = kept[i];
    p.forEach((__, j) => {
      const mass = Math.max(q[i] - p[i], 0) * law[j] * height;
      if (moved) { list.push(box(`f${i}${j}`, j, filled[j], mass, 'recovered', show(mass))); filled[j] += mass; }
      else { list.push(box(`f${i}${j}`, i, at, mass, surplusKind, law[j] > 0.999 || !judged ? show(mass) : '')); at += mass; }
    });
  });
  if (gaps && !moved) p.forEach((_, i) => list.push(box(`g${i}`, i, kept[i], left[i], 'p', show(left[i]))));
  if (outline) p.forEach((x, i) => list.push(box(`o${i}`, i, 0, x, 'outline', '')));
  return list;
}
