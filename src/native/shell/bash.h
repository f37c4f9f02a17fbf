// SPDX-License-Identifier: Apache-2.0
// What this library uses of the bash that has loaded it, and of its C library: names that bash
// exports for builtins like this one. All are weak: a bash that lacks one is not kept.
#pragma once

#include <cstddef>

#define CLOCHE_BASH extern "C" __attribute__((weak))

namespace cloche::shell::bash {

struct Word {
  char* text;
  int flags;
};
struct Words {
  Words* next;
  Word* word;
};
struct Variable {
  char* name;
  char* value;
  char* exported;
  void* read;
  void* assign;
  int attributes;
  int context;
};
struct Entry {  // of a table of variables
  Entry* next;
  char* name;
  void* data;
  unsigned hash;
  int found;
};
struct Context {
  char* name;
  int scope;
  int flags;
  Context* up;
  Context* down;
  void* table;
};
struct Builtin {
  const char* name;
  int (*run)(Words*);
  int flags;
  const char* const* help;
  const char* usage;
  char* handle;
};

inline constexpr int is_exported = 1;                                 // of Variable::attributes
inline constexpr int force = 0x20;                                    // of bind_global_variable
inline constexpr int known_to_be_new = 1;                             // of hash_insert
inline constexpr int builtin_is_enabled = 1, builtin_is_deleted = 2;  // of Builtin::flags
inline constexpr std::size_t jump_bytes = 200;  // of a place to jump to, of glibc on x86-64

// Of parse_and_execute: not interactive, no history, the text is not freed, lines count from 1.
inline constexpr int not_interactive = 1, no_history = 4, keep_text = 8, from_line_one = 16;

// How something jumps to top_level.
inline constexpr int end_of_file = 1, discard = 2;

}  // namespace cloche::shell::bash

CLOCHE_BASH const char* const dist_version;
CLOCHE_BASH char top_level[cloche::shell::bash::jump_bytes];
CLOCHE_BASH int last_command_exit_value, subshell_environment, read_but_dont_execute, EOF_Reached,
    array_needs_making, sourcelevel, evalnest, sourcenest, subshell_level, executing,
    executing_builtin, stdin_redir, last_made_pid, last_asynchronous_pid, dollar_dollar_pid,
    shell_pgrp, original_pgrp, pipeline_pgrp, startup_state;
CLOCHE_BASH long shell_start_time;  // since 1970, for SECONDS
CLOCHE_BASH char* dollar_vars[10];
CLOCHE_BASH char *this_command_name, *command_execution_string;
CLOCHE_BASH char* trap_list[];
CLOCHE_BASH void* temporary_env;
CLOCHE_BASH cloche::shell::bash::Context* global_variables;
CLOCHE_BASH int parse_and_execute(char* text, const char* name, int flags);
CLOCHE_BASH void top_level_cleanup();
CLOCHE_BASH void reset_local_contexts();
CLOCHE_BASH void dispose_used_env_vars();
CLOCHE_BASH void reset_parser();
CLOCHE_BASH void restore_sigmask();
CLOCHE_BASH void zreset();
CLOCHE_BASH int legal_identifier(const char* name);
CLOCHE_BASH cloche::shell::bash::Variable* bind_global_variable(const char* name, char* value,
                                                                int flags);
CLOCHE_BASH int unbind_variable(const char* name);
CLOCHE_BASH void dispose_variable(void* variable);
CLOCHE_BASH void stupidly_hack_special_variables(char* name);
CLOCHE_BASH cloche::shell::bash::Entry* hash_remove(const char* name, void* table, int flags);
CLOCHE_BASH cloche::shell::bash::Entry* hash_insert(char* name, void* table, int flags);
CLOCHE_BASH char* get_working_directory(const char* who);
CLOCHE_BASH int cd_builtin(cloche::shell::bash::Words* words);
CLOCHE_BASH cloche::shell::bash::Word* make_word(const char* text);
CLOCHE_BASH cloche::shell::bash::Words* make_word_list(cloche::shell::bash::Word* word,
                                                       cloche::shell::bash::Words* next);
CLOCHE_BASH void dispose_words(cloche::shell::bash::Words* words);
CLOCHE_BASH cloche::shell::bash::Builtin* builtin_address_internal(const char* name, int disabled);
CLOCHE_BASH void push_dollar_vars();
CLOCHE_BASH void pop_dollar_vars();
CLOCHE_BASH void remember_args(cloche::shell::bash::Words* words, int replaces);
CLOCHE_BASH int signal_is_trapped(int number);
CLOCHE_BASH void restore_default_signal(int number);
CLOCHE_BASH void initialize_signals(int again);
CLOCHE_BASH void delete_all_jobs(int running_only);
CLOCHE_BASH void set_ppid();
CLOCHE_BASH void seedrand();
CLOCHE_BASH void seedrand32();
CLOCHE_BASH void* xmalloc(std::size_t bytes);
CLOCHE_BASH void xfree(void* memory);

CLOCHE_BASH __attribute__((returns_twice)) int __sigsetjmp(void* place, int with_mask);
CLOCHE_BASH __attribute__((noreturn)) void siglongjmp(void* place, int value);
CLOCHE_BASH int on_exit(void (*run)(int status, void* what), void* what);
CLOCHE_BASH int __register_atfork(void (*before)(), void (*in_parent)(), void (*in_child)(),
                                  void* library);
CLOCHE_BASH int fflush(void* stream);
CLOCHE_BASH void clearerr(void* stream);
CLOCHE_BASH void *stdin, *stdout, *stderr;
CLOCHE_BASH const char* gnu_get_libc_version();
CLOCHE_BASH unsigned __rseq_size;
CLOCHE_BASH std::ptrdiff_t __rseq_offset;
