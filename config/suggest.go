package config

import (
	"slices"
	"strings"
)

// suggest names the known word that a mistyped one is closest to, or the
// known words where none is close.
func suggest(word string, known []string) string {
	names := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return name == "" })
	if meant := didYouMean(word, names); meant != "" {
		return meant
	}
	switch {
	case len(names) == 0:
		return "; there is none"
	case len(names) > 24:
		return ""
	}
	slices.Sort(names)
	return "; known are " + strings.Join(names, ", ")
}

// didYouMean is " (did you mean x?)" for the closest word, empty if none is close.
func didYouMean(word string, known []string) string {
	if meant := closest(word, known); meant != "" {
		return " (did you mean " + meant + "?)"
	}
	return ""
}

// closest is the known word that differs least, if by little; else empty.
func closest(word string, known []string) string {
	best, distance := "", 3
	if len(word) <= 4 {
		distance = 2
	}
	for _, name := range known {
		if d := editDistance(strings.ToLower(word), strings.ToLower(name)); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours between two words. Long words are not compared: they cost, and a
// suggestion for them helps nobody.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
