// Anthropic's SDK for JavaScript.
const look = {name: 'look', description: 'Looks at something.', input_schema: {
  type: 'object', properties: {at: {type: 'string'}}, required: ['at']}};

// What an answer by a schema has to be.
const answer = {type: 'object', properties: {at: {enum: ['the sky', 'the sea']}, is_blue: {type: 'boolean'}},
  required: ['at', 'is_blue'], additionalProperties: false};

export function features(inFolder) {
  const Anthropic = inFolder('@anthropic-ai/sdk');
  const connect = (URL, KEY) => {
    // settings
    const client = new Anthropic({baseURL: URL, apiKey: KEY});
    // end
    return client.withOptions({maxRetries: 0});
  };
  const request = (at, more) => ({model: at.model, max_tokens: 100, messages: [{role: 'user', content: at.say}], ...more});
  const create = (at, more = {}, options = {}) => connect(at.url, at.key).messages.create(request(at, more), options);
  const streamed = (at, more = {}) => connect(at.url, at.key).messages.stream(request(at, more));
  const text = (message) => message.content.filter((b) => b.type === 'text').map((b) => b.text).join('');
  const counts = ({usage}) => [usage.input_tokens + (usage.cache_read_input_tokens ?? 0), usage.output_tokens];

  return {
    chat: async (at) => text(await create(at)),
    async stream(at) {
      const pieces = [];
      await streamed(at).on('text', (piece) => pieces.push(piece)).finalMessage();
      return pieces;
    },
    async tools(at) {
      const first = await create(at, {tools: [look]});
      const [call] = first.content.filter((b) => b.type === 'tool_use');
      const messages = [{role: 'user', content: at.say}, {role: 'assistant', content: first.content},
                        {role: 'user', content: [{type: 'tool_result', tool_use_id: call.id, content: 'blue'}]}];
      return {call: [call.name, call.input], text: text(await create(at, {tools: [look], messages}))};
    },
    async tools_stream(at) {
      const [call] = (await streamed(at, {tools: [look]}).finalMessage()).content.filter((b) => b.type === 'tool_use');
      return [call.name, call.input];
    },
    usage: async (at) => counts(await create(at)),
    usage_stream: async (at) => counts(await streamed(at).finalMessage()),
    async forced(at) {
      const tell = {name: 'tell', input_schema: answer};
      const told = await create(at, {tools: [look, tell], tool_choice: {type: 'tool', name: 'tell'}});
      return told.content.find((b) => b.type === 'tool_use').input;
    },
    schema: async (at) => JSON.parse(text(await create(at, {output_config: {format: {type: 'json_schema', schema: answer}}}))),
    async cancel(at) {
      const stream = await create(at, {max_tokens: 200000, stream: true});
      for await (const event of stream) if (event.type === 'content_block_delta') break;
    },
    timeout: (at) => create(at, {max_tokens: 200000}, {timeout: at.seconds * 1000}),
  };
}
