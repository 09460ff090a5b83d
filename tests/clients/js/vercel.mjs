// The Vercel AI SDK.
// What an answer by a schema has to be.
const answer = {type: 'object', properties: {at: {enum: ['the sky', 'the sea']}, is_blue: {type: 'boolean'}},
  required: ['at', 'is_blue'], additionalProperties: false};

export function features(inFolder) {
  const {embedMany, generateObject, generateText, jsonSchema, stepCountIs, streamText, tool} = inFolder('ai');
  const {createOpenAICompatible} = inFolder('@ai-sdk/openai-compatible');
  const connect = (URL, KEY) => {
    // settings
    const runnel = createOpenAICompatible({name: 'runnel', baseURL: URL + '/v1', apiKey: KEY, includeUsage: true});
    // end
    return runnel;
  };
  const schema = jsonSchema({type: 'object', properties: {at: {type: 'string'}}, required: ['at']});
  const tools = {look: tool({description: 'Looks at something.', inputSchema: schema, execute: async () => 'blue'})};
  const basis = (at, more) => ({model: connect(at.url, at.key)(at.model), prompt: at.say, temperature: 0, maxRetries: 0, ...more});
  const streamed = (at, more) => {
    let failure;
    const result = streamText(basis(at, {onError: ({error}) => { failure = error; }, ...more}));
    return {result, check: () => { if (failure) throw failure; }};
  };

  return {
    chat: async (at) => (await generateText(basis(at))).text,
    async stream(at) {
      const {result, check} = streamed(at);
      const pieces = [];
      for await (const piece of result.textStream) pieces.push(piece);
      check();
      return pieces;
    },
    async tools(at) {
      const done = await generateText(basis(at, {tools, stopWhen: stepCountIs(3)}));
      const [call] = done.steps.flatMap((s) => s.toolCalls);
      return {call: [call.toolName, call.input], text: done.text};
    },
    async tools_stream(at) {
      const {result, check} = streamed(at, {tools, stopWhen: stepCountIs(3)});
      await result.consumeStream();
      check();
      const [call] = (await result.steps).flatMap((s) => s.toolCalls);
      return [call.toolName, call.input];
    },
    async usage(at) {
      const {usage} = await generateText(basis(at));
      return [usage.inputTokens, usage.outputTokens];
    },
    async usage_stream(at) {
      const {result, check} = streamed(at);
      await result.consumeStream();
      check();
      const usage = await result.usage;
      return [usage.inputTokens, usage.outputTokens];
    },
    schema: async (at) => (await generateObject(basis(at, {schema: jsonSchema(answer), model:
      inFolder('@ai-sdk/openai-compatible').createOpenAICompatible({name: 'runnel', baseURL: at.url + '/v1', apiKey: at.key,
                                                                    supportsStructuredOutputs: true})(at.model)}))).object,
    async forced(at) {
      const tell = tool({description: 'Tells.', inputSchema: jsonSchema(answer)});
      const done = await generateText(basis(at, {tools: {tell}, toolChoice: {type: 'tool', toolName: 'tell'}}));
      const [call, ...more] = done.toolCalls;
      if (more.length) throw new Error('more than one call');
      return call.input;
    },
    embeddings: async (at) => (await embedMany({model: connect(at.url, at.key).textEmbeddingModel(at.model), values: at.texts})).embeddings,
    async cancel(at) {
      const controller = new AbortController();
      const {result} = streamed(at, {abortSignal: controller.signal});
      for await (const piece of result.textStream) if (piece) break;
      controller.abort();
    },
    timeout: (at) => generateText(basis(at, {abortSignal: AbortSignal.timeout(at.seconds * 1000)})),
  };
}
