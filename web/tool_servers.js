// The MCP servers in the settings: which the conversation has on, their tools, and a token where one wants it.
import {h, set} from './dom.js';
import {listTools, serverName, servers, setToken, tokenOf} from './tools.js';
import {t} from './words.js';

// chosen: the addresses that are on; onchange(addresses).
export function toolServers(chosen, onchange) {
  const urls = servers();
  if (!urls.length) return null;
  let on = chosen.filter(url => urls.includes(url));
  return h('fieldset.tool-servers', h('legend', t('Servers of tools (MCP)')), urls.map((url, i) => {
    const said = h('small', {role: 'status', id: `mcp-${i}-said`});
    const box = h('input', {type: 'checkbox', name: `mcp-${i}`, checked: on.includes(url), 'aria-describedby': said.id});
    const token = h('input', {type: 'password', name: `mcp-${i}-token`, autocomplete: 'off', value: tokenOf(url), placeholder: t('Token, if it wants one'),
      'aria-label': t('Token for {server}', {server: serverName(url)}), maxlength: '4096'});
    const look = async () => {
      set(token, {hidden: !box.checked});
      said.classList.remove('error');
      said.textContent = box.checked ? t('Asking for its tools ...') : t('off: it is not asked');
      if (!box.checked) return;
      try {
        const tools = await listTools(url);
        said.textContent = tools.length ? t('{n} tools: {names}', {n: tools.length, names: tools.map(f => f.name).join(', ')}) : t('it has no tools');
      } catch (e) {
        said.classList.add('error');
        said.textContent = e.message;
      }
    };
    box.addEventListener('change', () => {
      on = urls.filter(u => (u === url ? box.checked : on.includes(u)));
      onchange(on);
      look();
    });
    token.addEventListener('change', () => { setToken(url, token.value.trim()); look(); });
    look();
    return h('.field', h('label.check', box, serverName(url)), said, token);
  }));
}
