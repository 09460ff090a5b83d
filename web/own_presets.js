// Settings that the user keeps under a name: system prompt, sampling and limits. They are in this browser, and the same for all models.
const NAME = 'runnel-presets', MOST = 100;
const parts = ({system, preset, values, seed, stop, max_tokens, truncate, tools, variables, schema}) =>
  structuredClone({system, preset, values, seed, stop, max_tokens, truncate, tools, variables, schema});

export function ownPresets() {
  try {
    const all = JSON.parse(localStorage.getItem(NAME));
    return all && typeof all === 'object' && !Array.isArray(all) ? all : {};
  } catch { return {}; }
}

function keep(all) { localStorage.setItem(NAME, JSON.stringify(all)); }

export function savePreset(name, settings) {
  const all = {...ownPresets(), [name]: parts(settings)};
  if (Object.keys(all).length > MOST) throw new Error(`${MOST} presets are the most that are kept: delete one first`);
  keep(all);
}

export function dropPreset(name) {
  const all = ownPresets();
  delete all[name];
  keep(all);
}
