/** The smallest export of ChatGPT with a prompt in it. */
export const CHATGPT = JSON.stringify([
  {
    id: "c",
    title: "Ports",
    create_time: 1_770_000_000,
    current_node: "1",
    mapping: {
      "1": {
        id: "1",
        parent: null,
        children: [],
        message: {
          author: { role: "user" },
          create_time: 1_770_000_000,
          content: { content_type: "text", parts: ["Which port does staging use?"] },
        },
      },
    },
  },
]);
