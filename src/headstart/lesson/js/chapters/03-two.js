// Chapter 3: p and q over two words, to drag.
import { figure, lawEditor } from '../figure.js';

export default {
  id: 'two',
  knobs: {},
  mount(root, ctx) {
    const fig = figure(root, { title: 'two.title' });
    const p = lawEditor({ who: 'p', size: 2, set: ([love]) => ctx.set({ p: love }) });
    const q = lawEditor({ who: 'q', size: 2, set: ([love]) => ctx.set({ q: love }) });
    fig.stage.append(p.root, q.root);
    return (now) => {
      p.update([now.p, 100 - now.p]);
      q.update([now.q, 100 - now.q]);
    };
  },
};
