// Package morning fires the mornings of very many people: what each costs the table, and what
// a hundred thousand of them in one minute do to its partitions.
package morning
