// Chapter 12: the family. Who changed what, with which guarantee, and what Headstart runs.
import { h, shown } from '../dom.js';
import { choose, figure } from '../figure.js';
import { bet } from '../player.js';
import { prose } from '../prose.js';
import { loadJson } from '../trace.js';
import { say } from '../words.js';

const MARKS = { guess: 'q', check: 'accepted', schedule: 'bonus' };

/** One paper: when, what it changed, its guarantee, its figure, and what Headstart runs of it. */
const paper = ({ id, year, name, arxiv, changes, guarantee, runs }) => h('li', {},
  h('b', {}, String(year)),
  h('div', {},
    h('p', {}, h('b', {}, name), ...arxiv.map((number) => h('small', {}, ` arXiv:${number}`))),
    h('p', { class: 'legend' }, ...changes.map((kind) => h('span', { class: `mark ${MARKS[kind]}`, w: `family.${kind}` })), h('span', { w: `family.g.${guarantee}` }),
      runs && h('b', { w: 'family.runs', values: { runs } })),
    h('p', { w: `family.${id}` })));

export default {
  id: 'family',
  knobs: { change: 'all', who: 'all', guess: -1 },
  mount(root, ctx) {
    const { reveal, update } = bet(root, ctx, 'family', { options: Object.keys(MARKS).map((kind) => `family.${kind}`), answer: 0 });
    const fig = figure(reveal, 'family.fig');
    fig.root.querySelector('.badge').remove();
    const selects = { change: choose(ctx, 'change', 'family.change', ['all', ...Object.keys(MARKS)]), who: choose(ctx, 'who', 'family.who', ['all', 'ours']) };
    const list = h('ol', { class: 'papers' });
    fig.stage.append(h('div', { class: 'controls' }, selects.change.root, selects.who.root), fig.narration, list);
    prose(reveal, 'family.after');
    let papers = [];
    loadJson('papers').then((seen) => { papers = seen; list.append(...papers.map(paper)); draw(ctx.state); });

    function draw(now) {
      update();
      for (const knob of ['change', 'who']) selects[knob].update(now[knob]);
      const wanted = papers.map(({ changes, runs }) => (now.change === 'all' || changes.includes(now.change)) && (now.who === 'all' || runs));
      wanted.forEach((yes, i) => shown(list.children[i], yes));
      say(fig.narration, 'family.count', { n: wanted.filter(Boolean).length, of: papers.length });
    }
    return draw;
  },
};
