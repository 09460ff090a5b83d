// The settings panel: model, system prompt, preset, every sampling field with its range, limits, and the
// settings of this browser.
import {dialog, fill, h, iconButton, toast} from './dom.js';
import {dropPreset, ownPresets, savePreset} from './own_presets.js';
import {ApiError, postJson} from './api.js';
import {DEFAULTS, effective, readSchema, readTools, readVariables, withDefaults} from './settings_model.js';
import {toolServers} from './tool_servers.js';
import {t} from './words.js';

const openFolds = new Set();       // names of the parts that stay open
const TYPING_MS = 300;          // without a key before what was typed is checked
const OWN = 'own:';
const SLIDER_SPAN = 1000;       // wider ranges get only a number field, no slider
const NAMES = {temp: t('Temperature'), top_k: 'Top-k', top_p: 'Top-p', min_p: 'Min-p', min_keep: 'Keep at least', repeat_penalty: 'Repeat penalty',
  frequency_penalty: 'Frequency penalty', presence_penalty: 'Presence penalty', penalty_last_n: 'Penalties look back'};
const MORE_NAMES = {dry_multiplier: 'DRY', dry_base: 'DRY base', dry_allowed_length: 'DRY allowed length', dry_penalty_last_n: 'DRY looks back',
  xtc_probability: 'XTC probability', xtc_threshold: 'XTC threshold', typical_p: 'Typical', top_n_sigma: 'Top-n-sigma', dynatemp_range: 'Dynamic temperature',
  dynatemp_exponent: 'Dynamic temperature exponent', mirostat: 'Mirostat', mirostat_tau: 'Mirostat target', mirostat_eta: 'Mirostat rate',
  min_tokens: 'Least tokens', no_repeat_ngram_size: 'No n-gram twice', epsilon_cutoff: 'Epsilon', eta_cutoff: 'Eta', top_a: 'Top-a', top_h: 'Top-h',
  tfs_z: 'Tail-free', adaptive_target: 'Adaptive-p', adaptive_decay: 'Adaptive-p decay', encoder_repetition_penalty: 'Favor the prompt',
  exponential_decay_start: 'End more likely from', exponential_decay_factor: 'End more likely by'};

export function labelled(text, control, help) {
  const id = control.id ||= `c${(labelled.n = (labelled.n || 0) + 1)}`;
  const hint = help ? h('small', {id: `${id}-help`}, help) : null;
  if (hint) control.setAttribute('aria-describedby', hint.id);
  return h('.field', h('label', {htmlFor: id}, text), control, hint);
}

// A form for one settings object. Calls onchange after each valid change. Used by the panel and by each column
// of a comparison.
export class SettingsForm {
  constructor(props, models, settings, onchange, {isColumn = false} = {}) {
    Object.assign(this, {props, models, settings, onchange, isColumn});
    this.el = h('form.settings-form', {onsubmit: e => e.preventDefault()});
    this.draw();
  }

  change(changes) {
    Object.assign(this.settings, changes);
    this.onchange(this.settings);
  }

  draw() {
    const {settings: s, props} = this;
    const chooseModel = () => {
      this.change({model: model.value, lora: {}});
      this.draw();
      this.el.querySelector('[name=model]').focus();
    };
    const model = h('select', {name: 'model', onchange: chooseModel},
      this.models.map(m => h('option', {value: m.id}, m.id)));
    model.value = this.models.some(m => m.id === s.model) ? s.model : this.models[0]?.id;
    const own = this.isColumn ? {} : ownPresets();
    const choose = () => {
      const name = preset.value.startsWith(OWN) ? preset.value.slice(OWN.length) : '';
      this.change(name ? {...withDefaults({...own[name], model: s.model}), lora: s.lora, saved: name} : {preset: preset.value, strategy: '', values: {}, saved: ''});
      this.draw();
      this.el.querySelector('[name=preset]').focus();
    };
    const preset = h('select', {name: 'preset', onchange: choose},
      h('option', {value: ''}, t('none')), props.presets.map(p => h('option', {value: p.name, title: p.help}, p.name)),
      Object.keys(own).length ? h('optgroup', {label: t('Yours')}, Object.keys(own).map(name => h('option', {value: OWN + name}, name))) : null);
    preset.value = s.saved in own ? OWN + s.saved : s.preset;
    const strategy = h('select', {name: 'strategy', onchange: () => {
      this.change({strategy: strategy.value, preset: '', values: {}});
      this.draw();
      this.el.querySelector('[name=strategy]').focus();
    }}, h('option', {value: ''}, t('none')), (props.strategies || []).map(x => h('option', {value: x.name, title: x.help}, x.name)));
    strategy.value = s.strategy;
    if (!this.isColumn) return this.panel(model, preset);
    fill(this.el,
      labelled(t('Model'), model),
      this.adapters(), labelled(t('Strategy'), strategy, props.strategies?.find(x => x.name === s.strategy)?.help),
      labelled(t('Preset'), preset, props.presets.find(p => p.name === s.preset)?.help),
      h('fieldset', h('legend', t('Sampling')), props.sampling.filter(f => f.name in NAMES).map(f => this.sampling(f)),
        h('details', h('summary', t('More samplers')), props.sampling.filter(f => !(f.name in NAMES)).map(f => this.sampling(f)))),
      this.text('seed', t('Seed'), t('empty: another each time'), /^\d{0,15}$/, t('a whole number of at most 15 digits')),
      this.text('max_tokens', t('Most tokens'), t('empty: to the end of the context'), /^(?:[1-9]\d{0,8})?$/, t('a whole number from 1')),
      this.stops());
  }

  // Three fields, and the rest by subject, folded.
  panel(model, preset) {
    const {settings: s, props} = this, fields = props.sampling, temp = fields.find(f => f.name === 'temp');
    const fold = (name, ...parts) => {
      const el = h('details.fold', {open: openFolds.has(name)}, h('summary', name), h('.fold-body', ...parts));
      el.addEventListener('toggle', () => openFolds[el.open ? 'add' : 'delete'](name));
      return el;
    };
    const words = s.saved in ownPresets() ? t('one of yours') : props.presets.find(p => p.name === s.preset)?.help;
    const [truncate, alternatives, tools, reset] = this.more();
    fill(this.el, this.area('system', t('System prompt'), 4),
      labelled(t('Preset'), preset, words), h('.row.close', h('button', {type: 'button', id: 'save-preset', onclick: () => this.savePreset()}, t('Save as ...')),
        s.saved in ownPresets() ? h('button', {type: 'button', id: 'drop-preset', onclick: () => this.dropPreset()}, t('Delete this preset')) : null),
      temp ? this.sampling(temp) : null,
      fold(t('Length and limits'), this.text('max_tokens', t('Most tokens'), t('empty: to the end of the context'), /^(?:[1-9]\d{0,8})?$/, t('a whole number from 1')), this.stops(), truncate),
      fold(t('Sampling'), this.text('seed', t('Seed'), t('empty: another each time'), /^\d{0,15}$/, t('a whole number of at most 15 digits')),
        fields.filter(f => f.name in NAMES && f !== temp).map(f => this.sampling(f)),
        h('details', h('summary', t('More samplers')), fields.filter(f => !(f.name in NAMES)).map(f => this.sampling(f))), alternatives),
      fold(t('Model'), labelled(t('Model'), model, this.models.length > 1 ? null : this.modelWords()), this.adapters()),
      fold(t('Form of the answer'), this.schema()), fold(t('Tools and template'), tools), reset);
  }

  savePreset() {
    dialog(t('Save these settings'), close => {
      const name = h('input', {required: true, maxlength: '60', autocomplete: 'off', value: this.settings.saved});
      return h('form.asked', {onsubmit: e => { e.preventDefault(); close(name.value.trim()); }}, labelled(t('Name'), name, t('system prompt, sampling and limits; kept in this browser')),
        h('button.primary', {type: 'submit'}, t('Save')));
    }).then(name => {
      if (!name) return;
      try {
        savePreset(name, this.settings);
        this.change({saved: name});
        this.draw();
      } catch (e) {
        toast(e.message, {isError: true});
      }
      this.el.querySelector('[name=preset]').focus();
    });
  }

  dropPreset() {
    dropPreset(this.settings.saved);
    this.change({saved: ''});
    this.draw();
    this.el.querySelector('[name=preset]').focus();
  }

  modelWords() {
    const m = this.models[0]?.meta;
    if (!m?.n_ctx) return '';
    const words = t('{architecture}, {n} M parameters, context {context}', {architecture: m.architecture, n: (m.n_params / 1e6).toFixed(0), context: m.n_ctx});
    return m.can_chat ? words : `${words}; ${t('no chat template: it goes on with the text')}`;
  }

  // LoRA adapters, which belong to the first model. What was not changed is as the server has it.
  adapters() {
    const {settings: s, props: {adapters = []}} = this;
    if (!adapters.length || (s.model && s.model !== this.models[0]?.id)) return null;
    const boxes = adapters.map(a => h('input', {type: 'number', name: `lora-${a.name}`, min: '-1000', max: '1000', step: 'any', required: true,
      value: String(s.lora[a.name] ?? a.scale)}));
    const take = box => {
      if (boxes.every(b => b.validity.valid)) this.change({lora: Object.fromEntries(adapters.map((a, i) => [a.name, Number(boxes[i].value)]))});
      else box.reportValidity();
    };
    boxes.forEach(b => b.addEventListener('change', () => take(b)));
    return h('fieldset', h('legend', t('Adapters')), adapters.map((a, i) => labelled(a.name, boxes[i], t('scale; 0: not used (rank {rank})', {rank: a.rank}))));
  }

  sampling(f) {
    const {settings: s} = this, name = NAMES[f.name] || MORE_NAMES[f.name] || f.name, range = {min: String(f.min), max: String(f.max)};
    const box = h('input', {type: 'number', name: f.name, ...range, step: f.is_int ? '1' : 'any'});
    const slider = f.max - f.min > SLIDER_SPAN ? null :
      h('input', {type: 'range', ...range, step: f.is_int ? '1' : '0.01', 'aria-label': t('{name} slider', {name}), tabindex: '-1'});
    const reset = iconButton('redo', t('Reset {name}', {name}), () => {
      delete s.values[f.name];
      this.change({});
      show();
      box.focus();
    });
    const show = () => {
      const v = effective(s, f, this.props.presets, this.props.strategies);
      box.value = v;
      if (slider) slider.value = v;
      reset.hidden = !(f.name in s.values);
      box.setCustomValidity('');
    };
    const take = (from, isSlider) => {
      const v = Number(from.value);
      const isRight = from.value !== '' && Number.isFinite(v) && v >= f.min && v <= f.max && (!f.is_int || Number.isInteger(v));
      box.setCustomValidity(isRight ? '' : t(f.is_int ? '{min} to {max}, a whole number' : '{min} to {max}', f));
      if (!isRight) return box.reportValidity();
      s.values[f.name] = v;
      this.change({});
      if (isSlider) box.value = v;
      else if (slider) slider.value = v;
      reset.hidden = false;
      return true;
    };
    box.addEventListener('change', () => take(box, false));
    slider?.addEventListener('input', () => take(slider, true));
    const field = labelled(name, h('.range', slider, box, reset), null);
    box.id = `${field.firstChild.htmlFor}-box`;
    field.firstChild.htmlFor = box.id;
    field.append(h('small', `${f.help} (${t('{min} to {max}, default {value}', {min: f.min, max: f.max, value: Number(f.default.toPrecision(6))})})`));
    show();
    return field;
  }

  text(name, label, help, form, wrong) {
    const input = h('input', {name, value: String(this.settings[name]), inputmode: 'numeric', autocomplete: 'off'});
    input.addEventListener('change', () => {
      const isRight = form.test(input.value.trim());
      input.setCustomValidity(isRight ? '' : wrong);
      if (isRight) this.change({[name]: input.value.trim()});
      else input.reportValidity();
    });
    return labelled(label, input, help);
  }

  area(name, label, rows, help, check) {
    const area = h('textarea', {name, rows: String(rows), value: this.settings[name], spellcheck: 'false'});
    area.addEventListener('change', () => {
      let wrong = '';
      try { check?.(area.value); } catch (e) { wrong = e.message; }
      area.setCustomValidity(wrong);
      if (wrong) area.reportValidity();
      else this.change({[name]: area.value});
    });
    return labelled(label, area, help);
  }

  // What is wrong about a schema; '' where nothing is. What can be enforced only the server knows.
  async schemaWrong(text) {
    try {
      const schema = readSchema(text);
      if (schema !== null) await postJson('v1/runnel/grammar', {json_schema: schema, ...(this.settings.model ? {model: this.settings.model} : {})});
      return '';
    } catch (e) {
      return e instanceof ApiError && e.param !== 'json_schema' ? '' : e.message;       // else the answer will say it
    }
  }

  schema() {
    const area = h('textarea', {name: 'schema', rows: '4', value: this.settings.schema, spellcheck: 'false'}), said = h('small.error', {role: 'status'});
    let timer = 0, round = 0;
    const look = async () => {
      clearTimeout(timer);
      const text = area.value, mine = ++round, wrong = await this.schemaWrong(text);
      if (mine !== round) return;
      area.setCustomValidity(wrong);
      said.textContent = wrong;
      if (!wrong) this.change({schema: text});
    };
    area.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(look, TYPING_MS); });
    area.addEventListener('change', look);
    const field = labelled(t('JSON Schema'), area, t('answers are JSON that it allows; not together with tools'));
    field.append(said);
    return field;
  }

  stops() {
    const read = text => text.split('\n').filter(Boolean).map(s => s.replaceAll('\\n', '\n').replaceAll('\\t', '\t'));
    const value = this.settings.stop.map(s => s.replaceAll('\n', '\\n').replaceAll('\t', '\\t')).join('\n');
    const area = h('textarea', {name: 'stop', rows: '2', spellcheck: 'false', value});
    area.addEventListener('change', () => {
      const list = read(area.value), long = list.find(s => new TextEncoder().encode(s).length > 256);
      area.setCustomValidity(list.length > 16 ? t('{n} stop strings, 16 are the limit', {n: list.length}) : long ? t('one is longer than 256 bytes') : '');
      if (area.reportValidity()) this.change({stop: list});
    });
    return labelled(t('Stop strings'), area, t('one a line; \\n is a line break'));
  }

  more() {
    const alternatives = h('input', {type: 'number', name: 'alternatives', min: '-1', max: '20', value: String(this.settings.alternatives)});
    alternatives.addEventListener('change', () => { if (alternatives.reportValidity()) this.change({alternatives: Number(alternatives.value)}); });
    const ways = [['old', t('leave out the oldest turns')], ['middle', t('leave out turns after the first')], ['none', t('refuse')]];
    const truncate = h('select', {name: 'truncate', onchange: () => this.change({truncate: truncate.value})},
      ways.map(([value, words]) => h('option', {value}, words)));
    truncate.value = this.settings.truncate;
    const reset = () => {
      this.change(structuredClone({...DEFAULTS, model: this.settings.model}));
      this.draw();
    };
    return [labelled(t('What does not fit the context'), truncate),
      labelled(t('Alternatives kept of each token'), alternatives, t('for the token view; -1: no token data')),
      [toolServers(this.settings.mcp, mcp => this.change({mcp})), this.area('tools', t('Tools'), 4, t('a JSON array, as OpenAI has them'), readTools),
        this.area('variables', t('Template variables'), 2, `${t('a JSON object')}, {"enable_thinking": false}`, readVariables)],
      h('button', {type: 'button', onclick: reset}, t('All to default'))];
  }
}
