// Chapter 4: five timelines; erase and write again until the draft's five look like the target's five.
import { h, shown } from '../dom.js';
import { button, figure, legend, TOYS } from '../figure.js';
import { bet } from '../player.js';
import { prose } from '../prose.js';
import { label, say, text } from '../words.js';

const TARGET = [0, 0, 0, 1, 1];
const DRAFT = [0, 1, 1, 1, 1];

/** What a timeline says: kept (0), erased and written again as love (1) or as hate (2). */
const final = (cell, i) => (cell === 0 ? DRAFT[i] : cell - 1);

export default {
  id: 'timelines',
  knobs: { cells: '00000', guess: -1 },
  mount(root, ctx) {
    const fig = figure(root, 'timelines.fig');
    const board = h('div', { class: 'lines' });
    const cells = () => Array.from({ length: 5 }, (_, i) => Math.min(2, Number(ctx.state.cells[i]) || 0));
    const turn = (i) => {
      const next = cells();
      next[i] = (next[i] + 1) % 3;
      ctx.set({ cells: next.join('') });
      ctx.narrate(`${board.children[i].querySelector('button').getAttribute('aria-label')} ${status.textContent}`);
    };
    DRAFT.forEach((word, i) => board.append(h('div', { class: 'line' },
      h('small', {}, String(i + 1)),
      h('span', { class: 'cell p', l: `word.${TOYS[TARGET[i]].id}`, role: 'img' }, TOYS[TARGET[i]].face),
      h('button', { type: 'button', class: 'cell', on: { click: () => turn(i) } },
        h('span', { class: 'was' }), h('span', { class: 'now' })))));
    const heads = h('div', { class: 'line heads', 'aria-hidden': true }, h('small', { w: 'timelines.line' }),
      h('span', { class: 'who p', w: 'timelines.target' }), h('span', { class: 'who q', w: 'timelines.draft' }));
    const status = fig.narration;
    fig.stage.append(h('div', { class: 'linebox' }, heads, board), legend('rejected', 'recovered'));
    const clear = button('timelines.clear', () => ctx.set({ cells: '00000' }));
    fig.controls.append(clear);
    const hint = prose(root, 'timelines.hint');
    const { reveal, update } = bet(root, ctx, 'timelines', { answer: 1 });
    prose(reveal, 'timelines.after');

    function paint(now) {
      now.forEach((cell, i) => {
        const node = board.children[i].querySelector('button');
        node.className = `cell ${cell === 0 ? 'q' : 'recovered'}`;
        node.firstChild.textContent = cell === 0 ? '' : TOYS[DRAFT[i]].face;
        node.lastChild.textContent = TOYS[final(cell, i)].face;
        label(node, cell === 0 ? 'timelines.kept' : 'timelines.rewritten',
          { n: i + 1, was: text(`word.${TOYS[DRAFT[i]].id}`), now: text(`word.${TOYS[final(cell, i)].id}`) });
      });
    }
    return () => {
      const now = cells();
      paint(now);
      const love = now.filter((cell, i) => final(cell, i) === 0).length;
      const erased = now.filter((cell) => cell > 0).length;
      const stage = love !== 3 ? 'timelines.far' : erased > 2 ? 'timelines.more' : 'timelines.done';
      say(status, stage, { love, hate: 5 - love, erased });
      fig.root.classList.toggle('solved', stage === 'timelines.done');
      shown(clear, erased > 0);
      shown(hint, stage !== 'timelines.done');
      update();
    };
  },
};
