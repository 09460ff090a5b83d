// openai for JavaScript.
const look = {type: 'function', function: {name: 'look', description: 'Looks at something.', parameters: {
  type: 'object', properties: {at: {type: 'string'}}, required: ['at']}}};

// What an answer by a schema has to be.
const answer = {type: 'object', properties: {at: {enum: ['the sky', 'the sea']}, is_blue: {type: 'boolean'}},
  required: ['at', 'is_blue'], additionalProperties: false};

export function features(inFolder) {
  const OpenAI = inFolder('openai');
  const connect = (URL, KEY) => {
    // settings
    const client = new OpenAI({baseURL: URL + '/v1', apiKey: KEY});
    // end
    return client.withOptions({maxRetries: 0});
  };
  const create = (at, more = {}, options = {}) => connect(at.url, at.key).chat.completions.create(
    {model: at.model, temperature: 0, messages: [{role: 'user', content: at.say}], ...more}, options);
  const all = async (stream) => {
    const items = [];
    for await (const item of await stream) items.push(item);
    return items;
  };

  return {
    chat: async (at) => (await create(at)).choices[0].message.content,
    stream: async (at) => (await all(create(at, {stream: true}))).map((c) => c.choices[0]?.delta.content).filter((t) => t),
    async tools(at) {
      const message = (await create(at, {tools: [look]})).choices[0].message;
      const [call] = message.tool_calls;
      const messages = [{role: 'user', content: at.say}, message, {role: 'tool', tool_call_id: call.id, content: 'blue'}];
      const final = (await create(at, {tools: [look], messages})).choices[0].message;
      return {call: [call.function.name, JSON.parse(call.function.arguments)], text: final.content};
    },
    async tools_stream(at) {
      const final = await connect(at.url, at.key).chat.completions.stream(
        {model: at.model, temperature: 0, messages: [{role: 'user', content: at.say}], tools: [look]}).finalChatCompletion();
      const [call] = final.choices[0].message.tool_calls;
      return [call.function.name, JSON.parse(call.function.arguments)];
    },
    async usage(at) {
      const {usage} = await create(at);
      return [usage.prompt_tokens, usage.completion_tokens];
    },
    async usage_stream(at) {
      const {usage} = (await all(create(at, {stream: true, stream_options: {include_usage: true}}))).at(-1);
      return [usage.prompt_tokens, usage.completion_tokens];
    },
    async schema(at) {
      const told = await create(at, {response_format: {type: 'json_schema', json_schema: {name: 'x', schema: answer}}});
      return JSON.parse(told.choices[0].message.content);
    },
    async forced(at) {
      const tell = {type: 'function', function: {name: 'tell', parameters: answer}};
      const told = await create(at, {tools: [look, tell], tool_choice: {type: 'function', function: {name: 'tell'}}});
      const [call] = told.choices[0].message.tool_calls;
      return JSON.parse(call.function.arguments);
    },
    embeddings: async (at) => (await connect(at.url, at.key).embeddings.create({model: at.model, input: at.texts})).data.map((d) => [...d.embedding]),
    async cancel(at) {
      for await (const chunk of await create(at, {stream: true})) if (chunk.choices[0]?.delta.content) break;
    },
    timeout: (at) => create(at, {}, {timeout: at.seconds * 1000}),
  };
}
