// Theme: light, dark or the system's. Set before the first paint, so this is not a module.
'use strict';
(() => {
  const apply = theme => {
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  const read = () => { try { return localStorage.getItem('theme'); } catch { return null; } };
  apply(read());
  addEventListener('storage', e => { if (e.key === 'theme') apply(e.newValue); });
  window.runnelTheme = {
    get: () => read() || 'system',
    set: theme => {
      apply(theme);
      try { localStorage.setItem('theme', theme); } catch { /* for this visit only */ }
    },
  };
})();
