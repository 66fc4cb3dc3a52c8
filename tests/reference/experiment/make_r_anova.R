# Makes r_anova.json: analyses of variance by R 4.2.2, an independent program, with nothing but base R.
#
#     Rscript tests/reference/experiment/make_r_anova.R > tests/reference/experiment/r_anova.json
#
# Type II: each term's sum of squares is that of the comparison of two models, by anova(). Type III: drop1() of
# the whole model with contrasts of sum 0. Missing cells lower the degrees of freedom of what they take.

options(digits = 15)
number <- function(x) paste0("[", paste(ifelse(is.na(x), "null", trimws(formatC(x, digits = 15, format = "g", width = 1))), collapse = ", "), "]")
text <- function(x) paste0("[", paste0('"', x, '"', collapse = ", "), "]")

# Numbers that any program can make: no generator of random numbers is shared.
made <- function(d) with(d, round(500 - 37.5 * a + 61 * (b == 2) + 22 * (a == 2) * (c == 2)
                                  + 100 * sin(1000 * sin(seq_along(a) * 12.9898)), 3))
tables <- list(
  balanced = expand.grid(a = 1:3, b = 1:2, c = 1:2, r = 1:2),
  unbalanced = expand.grid(a = 1:3, b = 1:2, c = 1:2, r = 1:3)[-c(2, 7, 14, 15, 30, 33), ],
  missing = subset(expand.grid(a = 1:4, b = 1:2, c = 1:2, r = 1:2), !(a == 4 & b == 2))
)
words <- c("a", "b", "c", "a:b", "a:c", "b:c", "a:b:c")
holds <- function(big, small) all(strsplit(small, ":")[[1]] %in% strsplit(big, ":")[[1]])

one <- function(name) {
  d <- tables[[name]]
  d$y <- made(d)
  for (f in c("a", "b", "c")) d[[f]] <- factor(d[[f]])
  model <- function(terms) lm(as.formula(paste("y ~", paste(c("1", terms), collapse = " + "))), d)
  two <- sapply(words, function(w) {
    before <- words[!sapply(words, holds, small = w)]
    x <- anova(model(before), model(c(before, w)))
    c(x[2, "Sum of Sq"], x[2, "Df"])
  })
  whole <- model(words)
  rest <- c(sum(resid(whole)^2), whole$df.residual)
  f <- (two[1, ] / two[2, ]) / (rest[1] / rest[2])
  p <- pf(f, two[2, ], rest[2], lower.tail = FALSE)
  three <- NULL
  if (name != "missing") {
    for (k in c("a", "b", "c")) contrasts(d[[k]]) <- contr.sum(nlevels(d[[k]]))
    x <- drop1(lm(y ~ a * b * c, d), . ~ ., test = "F")
    three <- x[words, "Sum of Sq"]
  }
  paste0('"', name, '": {"a": ', number(as.integer(d$a)), ', "b": ', number(as.integer(d$b)), ', "c": ',
    number(as.integer(d$c)), ', "y": ', number(d$y), ', "terms": ', text(gsub(":", " × ", words)),
    ', "squares_ii": ', number(two[1, ]), ', "freedom": ', number(two[2, ]), ', "f": ', number(f),
    ', "p": ', number(p), ', "error": ', number(rest),
    if (!is.null(three)) paste0(', "squares_iii": ', number(three)), "}")
}

grid <- expand.grid(f = c(0.3, 1, 4.2, 30), above = c(1, 3, 8), below = c(1, 4, 22, 300), shift = c(0, 0.7, 9, 30))
tails <- with(grid, pf(f, above, below, lower.tail = FALSE))
powers <- with(grid, pf(f, above, below, ncp = shift, lower.tail = FALSE))
ts <- expand.grid(confidence = c(0.5, 0.9, 0.95, 0.999), freedom = c(1, 5 / 3, 5, 40, 1000))
shown <- with(ts, qt(0.5 + confidence / 2, freedom))
need <- power.t.test(delta = 0.2, sd = 0.15, power = 0.8)

# Lenth's ratios without an active effect: by itself and the largest, 95 % quantiles of many draws.
set.seed(1)
lenth <- sapply(c(7, 15, 31), function(m) {
  ratios <- replicate(100000, {
    x <- abs(rnorm(m))
    x / (1.5 * median(x[x < 2.5 * 1.5 * median(x)]))
  })
  c(quantile(ratios, 0.95), quantile(apply(ratios, 2, max), 0.95))
})

cat("{\n", paste(c(
  sapply(names(tables), one),
  paste0('"distributions": {"f": ', number(grid$f), ', "above": ', number(grid$above), ', "below": ',
    number(grid$below), ', "shift": ', number(grid$shift), ', "tail": ', number(tails), ', "power": ', number(powers), "}"),
  paste0('"t": {"confidence": ', number(ts$confidence), ', "freedom": ', number(ts$freedom), ', "quantile": ', number(shown), "}"),
  paste0('"holm": {"p": ', number(c(0.01, 0.04, 0.03, 0.005, 0.5)), ', "adjusted": ',
    number(p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm")), "}"),
  paste0('"lenth": {"m": [7, 15, 31], "one": ', number(lenth[1, ]), ', "largest": ', number(lenth[2, ]), "}"),
  paste0('"two_groups": {"n": ', number(ceiling(need$n)), ', "power": ',
    number(power.t.test(n = ceiling(need$n), delta = 0.2, sd = 0.15, strict = TRUE)$power), "}")
), collapse = ",\n"), "\n}\n", sep = "")
