/*
 * log.h - where the library's warnings go. Nothing is printed until a host sets a sink: the Lua binding
 * does. A warning is a sentence without a final newline. Any thread; the sink is called under no lock but
 * the log's own, and must not log.
 */
#ifndef LUHIP_BASE_LOG_H
#define LUHIP_BASE_LOG_H

void log_set_sink(void (*sink)(void *user, const char *text), void *user); /* NULL: dropped */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
