// ollama for JavaScript.
const look = {type: 'function', function: {name: 'look', description: 'Looks at something.', parameters: {
  type: 'object', properties: {at: {type: 'string'}}, required: ['at']}}};

// What an answer by a schema has to be.
const answer = {type: 'object', properties: {at: {enum: ['the sky', 'the sea']}, is_blue: {type: 'boolean'}},
  required: ['at', 'is_blue'], additionalProperties: false};

export function features(inFolder) {
  const {Ollama} = inFolder('ollama');
  const connect = (URL, KEY, more) => {
    // settings
    const client = new Ollama({host: URL, headers: {Authorization: `Bearer ${KEY}`}});
    // end
    return more ? new Ollama({host: URL, headers: {Authorization: `Bearer ${KEY}`}, ...more}) : client;
  };
  const create = (at, more, settings) => connect(at.url, at.key, settings).chat(
    {model: at.model, options: {temperature: 0, num_predict: -1}, messages: [{role: 'user', content: at.say}], ...more});
  const all = async (stream) => {
    const items = [];
    for await (const item of await stream) items.push(item);
    return items;
  };
  const counts = (done) => [done.prompt_eval_count, done.eval_count];

  return {
    chat: async (at) => (await create(at)).message.content,
    stream: async (at) => (await all(create(at, {stream: true}))).map((k) => k.message.content).filter((t) => t),
    async tools(at) {
      const {message} = await create(at, {tools: [look]});
      const [call] = message.tool_calls;
      const messages = [{role: 'user', content: at.say}, message, {role: 'tool', tool_name: call.function.name, content: 'blue'}];
      return {call: [call.function.name, call.function.arguments], text: (await create(at, {tools: [look], messages})).message.content};
    },
    async tools_stream(at) {
      const [call] = (await all(create(at, {tools: [look], stream: true}))).flatMap((k) => k.message.tool_calls ?? []);
      return [call.function.name, call.function.arguments];
    },
    usage: async (at) => counts(await create(at)),
    usage_stream: async (at) => counts((await all(create(at, {stream: true}))).at(-1)),
    schema: async (at) => JSON.parse((await create(at, {format: answer})).message.content),
    embeddings: async (at) => (await connect(at.url, at.key).embed({model: at.model, input: at.texts})).embeddings,
    async cancel(at) {
      const stream = await create(at, {stream: true});
      for await (const part of stream) if (part) break;
      stream.abort();
    },
    timeout: (at) => create(at, {}, {fetch: (url, init) => fetch(url, {...init, signal: AbortSignal.timeout(at.seconds * 1000)})}),
  };
}
