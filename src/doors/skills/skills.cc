// SPDX-License-Identifier: Apache-2.0
#include "doors/skills/skills.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doors/http/embedded.h"

CLOCHE_EMBED(cloche_skill_run, CLOCHE_SKILLS_DIR "/run.md")
CLOCHE_EMBED(cloche_skill_python, CLOCHE_SKILLS_DIR "/python.md")
CLOCHE_EMBED(cloche_skill_serve, CLOCHE_SKILLS_DIR "/serve.md")
CLOCHE_EMBED(cloche_skill_run_code, CLOCHE_SKILLS_DIR "/run-code.md")
CLOCHE_EMBED(cloche_skill_rpc, CLOCHE_SKILLS_DIR "/rpc.md")
CLOCHE_EMBED(cloche_skill_mcp, CLOCHE_SKILLS_DIR "/mcp.md")
CLOCHE_EMBED(cloche_skill_ssh, CLOCHE_SKILLS_DIR "/ssh.md")
CLOCHE_EMBED(cloche_skill_e2b, CLOCHE_SKILLS_DIR "/e2b.md")
CLOCHE_EMBED(cloche_skill_websocket, CLOCHE_SKILLS_DIR "/websocket.md")
CLOCHE_EMBED(cloche_skill_typescript, CLOCHE_SKILLS_DIR "/typescript.md")

namespace cloche::skills {
std::span<const Skill> all() {
  static const std::array skills{
      Skill{"run", "commands in a sandbox from a shell", cloche_skill_run()},
      Skill{"python", "sandboxes from Python, also on a server", cloche_skill_python()},
      Skill{"typescript", "sandboxes from TypeScript and JavaScript", cloche_skill_typescript()},
      Skill{"serve", "sessions over HTTP: commands, code, files", cloche_skill_serve()},
      Skill{"websocket", "a server's sessions by JSON-RPC, with terminals",
            cloche_skill_websocket()},
      Skill{"run-code", "grading code over HTTP, each in a sandbox of its own",
            cloche_skill_run_code()},
      Skill{"ssh", "a session by ssh, sftp and scp", cloche_skill_ssh()},
      Skill{"e2b", "programs for E2B against a server of your own", cloche_skill_e2b()},
      Skill{"mcp", "a sandbox as tools of the Model Context Protocol", cloche_skill_mcp()},
      Skill{"rpc", "sandboxes by JSON-RPC from any language", cloche_skill_rpc()}};
  return skills;
}

const Skill* find(std::string_view name) {
  const auto skills = all();
  const auto found = std::ranges::find(skills, name, &Skill::name);
  return found == skills.end() ? nullptr : &*found;
}

std::string overview() {
  std::string text =
      "Cloche gives an agent computers of its own. Pages from which it learns to use one:\n\n";
  for (const Skill& skill : all())
    text += fmt::format("  cloche skill {:<12} {}\n", skill.name, skill.what_for);
  return text;
}

std::string index() {
  std::string text =
      "# Cloche\n\n> Private computers for agents: a shell, tools, Python and files in a sandbox, "
      "ready in a millisecond.\n\n## Skills\n\n";
  for (const Skill& skill : all())
    text += fmt::format("- [{0}](/skills/{0}.md): {1}\n", skill.name, skill.what_for);
  return text +
         "\n## API\n\n- [OpenAPI](/v1/openapi.json): the REST API as a machine reads it\n"
         "- [Docs](/docs): the same for a person\n";
}

}  // namespace cloche::skills
