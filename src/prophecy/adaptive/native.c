/* One value of one series through the whole bank: learn from it, advance the memories, predict the next.

   The same steps as bank.py, solved.py, mixing.py, calibration.py and slope.py, which stay the reference this is tested
   against; only the zeros of the bank's one matrix product are left out. All numbers are float64. Nothing is allocated. */

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    /* sizes */
    int64_t lags, hidden, order, windows, members, shorts, longs, solved, width, features, slopes, levels;
    /* constants */
    const double *short_table;   /* (lags, shorts) */
    const double *long_table;    /* (windows, order, order + longs): new states, then predictions */
    const double *steady;        /* (hidden) */
    const double *alternating;   /* (2) */
    const double *prior;         /* (members) */
    const int64_t *index;        /* (solved, width) */
    const int64_t *used;         /* (solved): how many features are in use */
    const int64_t *longest;      /* (solved) */
    const int64_t *traces;       /* (solved) */
    const double *needed;        /* (solved) */
    const double *forgetting;    /* (solved) */
    const double *start;         /* (solved, width) */
    const int64_t *slope_member; /* (slopes) */
    const double *averaging;     /* (slopes) */
    const double *slope_rate;    /* (slopes) */
    const double *raise_by;      /* (levels) */
    const double *lower_by;      /* (levels) */
    /* numbers */
    double discount, share, settle, ceiling, rounding, smallest, block;
    double tiny, prior_power, bound, farthest, tidy, slowest_mean, few, lowest, highest, surprising, longer;
} Tables;

typedef struct {
    double *ring, *last, *feature, *ahead, *step, *level, *alternation;
    int64_t *count, *place;
    double *factor, *stretch, *weight, *power;
    uint8_t *begun;
    int64_t *pause;
    double *usual;
    int64_t *solved_count;
    double *mix, *scale, *peak, *last_peak;
    int64_t *mix_count;
    double *spread, *quantile, *spread_peak, *spread_last_peak;
    int64_t *spread_count;
    double *average, *square;
    int64_t *slope_count;
} State;

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

static void calibrate(const Tables *t, State *s, double error)
{
    double squared = error * error;
    if (*s->spread_count == 0) *s->spread = larger(squared, t->tiny);
    double rate = larger(1.0 - t->discount, 1.0 / (double)(*s->spread_count + 1 + (int64_t)t->settle));
    int still = squared <= t->tiny && *s->spread <= t->tiny;
    for (int64_t l = 0; l < t->levels && !still; l++) {
        double q = s->quantile[l];
        q *= squared > q * q * *s->spread ? t->raise_by[l] : t->lower_by[l];
        s->quantile[l] = smaller(larger(q, t->lowest), t->highest);
    }
    *s->spread = larger(*s->spread + (squared - *s->spread) * rate, t->tiny);
    *s->spread_peak = larger(*s->spread_peak, squared);
    if (++*s->spread_count % (int64_t)t->block == 0) {
        double highest = t->ceiling * larger(larger(*s->spread_peak, *s->spread_last_peak), t->tiny);
        *s->spread = smaller(*s->spread, highest);
        *s->spread_last_peak = *s->spread_peak;
        *s->spread_peak = 0.0;
    }
}

/* Recursive least squares in square-root form. Returns 1 if a factor has grown beyond its bound or is not finite. */
static int solve(const Tables *t, State *s, double difference)
{
    int64_t w = t->width;
    int trouble = 0;
    double phi[64], g[64], gain[64];
    int64_t seen = *s->solved_count;
    for (int64_t r = 0; r < t->solved; r++) {
        int64_t n = t->used[r];
        double *factor = s->factor + r * w * w, *weight = s->weight + r * w;
        double power = 0.0;
        int begun = seen >= t->longest[r];
        double error = difference;
        for (int64_t i = 0; i < n; i++) {
            phi[i] = s->feature[t->index[r * w + i]];
            error -= weight[i] * phi[i];
        }
        if (s->pause[r] > 0) s->pause[r]--;
        double scale = s->scale[t->members - t->solved + r], squared = error * error;
        if ((double)seen >= t->needed[r]) {
            double highest = t->surprising * t->surprising * larger(s->usual[r], scale);
            if (s->pause[r] == 0 && squared > highest) s->pause[r] = t->traces[r];
            s->usual[r] += (smaller(squared, highest) - s->usual[r]) / t->longer;
        } else {
            s->usual[r] = scale;
        }
        begun = begun && s->pause[r] == 0;
        for (int64_t i = 0; i < n; i++) {
            if (!begun) phi[i] = 0.0;
            power += phi[i] * phi[i];
        }
        if (!s->begun[r] && power > t->tiny) {
            double spread = sqrt(t->prior_power / power);
            memset(factor, 0, sizeof(double) * (size_t)(w * w));
            for (int64_t i = 0; i < n; i++) factor[i * w + i] = spread;
            s->stretch[r] = 1.0;
            s->power[r] = power;
            s->begun[r] = 1;
        }
        double stretch = s->stretch[r], lambda = t->forgetting[r];
        for (int64_t j = 0; j < n; j++) g[j] = 0.0;
        for (int64_t i = 0; i < n; i++) {
            const double *restrict row = factor + i * w;
            for (int64_t j = 0; j < n; j++) g[j] += phi[i] * row[j];
        }
        double beta = lambda, missed = difference;
        for (int64_t j = 0; j < n; j++) { g[j] *= stretch; beta += g[j] * g[j]; missed -= weight[j] * phi[j]; }
        missed /= beta;
        double shrink = 1.0 / ((beta + sqrt(lambda * beta)) * stretch);
        for (int64_t i = 0; i < n; i++) {
            double sum = 0.0;
            double *restrict row = factor + i * w;
            for (int64_t j = 0; j < n; j++) sum += row[j] * g[j];
            gain[i] = sum * stretch;
            weight[i] += gain[i] * missed;
            double lower = gain[i] * shrink;
            for (int64_t j = 0; j < n; j++) row[j] -= lower * g[j];
        }
        if (power > t->tiny) s->stretch[r] /= sqrt(lambda);
        s->power[r] += (power - s->power[r]) / t->tidy;
        if ((seen + 1) % (int64_t)t->tidy == 0) {
            double size = 0.0, total = 0.0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) {
                    double entry = factor[i * w + j] * s->stretch[r];
                    factor[i * w + j] = entry;
                    size += entry * entry;
                }
            for (int64_t i = 0; i < n; i++) total += weight[i];
            s->stretch[r] = 1.0;
            if (!(size * s->power[r] <= t->bound) || !isfinite(total)) trouble = 1;
        }
    }
    ++*s->solved_count;
    return trouble;
}

static void look_for_bias(const Tables *t, State *s, double difference)
{
    double newest = 1.0 / (double)++*s->slope_count;
    double *restrict mean = s->average, *restrict square = s->square;
    for (int64_t j = 0; j < t->slopes; j++) {
        double error = difference - s->ahead[t->slope_member[j]];
        mean[j] += (error - mean[j]) * t->averaging[j];
        square[j] += (mean[j] * mean[j] - square[j]) * larger(t->slope_rate[j], newest);
    }
}

static void weigh(const Tables *t, State *s, double difference, double value)
{
    int64_t m = t->members;
    double *restrict w = s->mix, *restrict v = s->scale, *restrict peak = s->peak, *restrict last_peak = s->last_peak;
    const double *restrict ahead = s->ahead, *restrict prior = t->prior;
    double least = (t->rounding * value) * (t->rounding * value) + t->smallest;
    if (*s->mix_count == 0) {
        double error = difference - ahead[0];
        for (int64_t i = 0; i < m; i++) v[i] = larger(error * error, least);
    }
    double rate = larger(1.0 - t->discount, 1.0 / (double)(*s->mix_count + 1 + (int64_t)t->settle));
    for (int64_t i = 0; i < m; i++) {
        double error = difference - ahead[i], squared = error * error;
        w[i] *= sqrt(v[i]) / (v[i] + squared);
        v[i] = larger(v[i] + (squared - v[i]) * rate, least);
        peak[i] = larger(peak[i], squared);
    }
    double total = 0.0;
    for (int64_t i = 0; i < m; i++) total += w[i];
    double scale = (1.0 - t->share) / total;
    for (int64_t i = 0; i < m; i++) w[i] = w[i] * scale + t->share * prior[i];
    if (++*s->mix_count % (int64_t)t->block == 0)
        for (int64_t i = 0; i < m; i++) {
            v[i] = smaller(v[i], t->ceiling * larger(larger(peak[i], last_peak[i]), least));
            last_peak[i] = peak[i];
            peak[i] = 0.0;
        }
}

static void predict(const Tables *t, State *s)
{
    int64_t first = t->shorts + t->longs * t->windows, w = t->width;
    for (int64_t r = 0; r < t->solved; r++) {
        double power = 0.0, ahead = 0.0, asleep = 0.0;
        for (int64_t i = 0; i < t->used[r]; i++) {
            double phi = s->feature[t->index[r * w + i]];
            power += phi * phi;
            ahead += s->weight[r * w + i] * phi;
            asleep += t->start[r * w + i] * phi;
        }
        double farthest = t->farthest * sqrt(power);
        ahead = smaller(larger(ahead, -farthest), farthest);
        s->ahead[first + r] = (double)*s->solved_count < t->needed[r] ? asleep : ahead;
    }
    double total = 0.0, sum = 0.0;
    const double *restrict mix = s->mix, *restrict scale = s->scale, *restrict ahead = s->ahead;
    for (int64_t i = 0; i < t->members; i++) {
        double share = mix[i] / (scale[i] > 0.0 ? scale[i] : 1.0);
        total += share;
        sum += share * ahead[i];
    }
    *s->step = sum / total;
}

static void advance(const Tables *t, State *s, double value)
{
    double difference = value - *s->last;
    int64_t n = t->lags, o = t->order, c = o + t->longs;
    *s->place = (*s->place + n - 1) % n;
    s->ring[*s->place] = s->ring[*s->place + n] = value;
    const double *recent = s->ring + *s->place;
    for (int64_t j = 0; j < n; j++) s->feature[j] = recent[j] - value;
    double *restrict ahead = s->ahead;
    for (int64_t i = 0; i < t->shorts; i++) ahead[i] = 0.0;
    for (int64_t j = 1; j < n; j++) {
        const double *restrict weights = t->short_table + j * t->shorts;
        double lag = s->feature[j];
        for (int64_t i = 0; i < t->shorts; i++) ahead[i] += lag * weights[i];
    }
    for (int64_t b = 0; b < t->windows; b++) {
        double *z = s->feature + n + b * o, out[64];
        const double *restrict table = t->long_table + b * o * c, *restrict steady = t->steady + b * o;
        for (int64_t i = 0; i < c; i++) out[i] = 0.0;
        for (int64_t k = 0; k < o; k++) {
            double moved = z[k] - difference * steady[k];
            for (int64_t i = 0; i < c; i++) out[i] += moved * table[k * c + i];
        }
        memcpy(z, out, sizeof(double) * (size_t)o);
        memcpy(s->ahead + t->shorts + b * t->longs, out + o, sizeof(double) * (size_t)t->longs);
    }
    double *spread = s->feature + n + t->hidden;
    for (int64_t i = 0; i < 2; i++) {
        s->alternation[i] = difference - t->alternating[i] * s->alternation[i];
        spread[i] = s->alternation[i] * (1.0 - t->alternating[i]);
    }
    ++*s->count;
    *s->level += (value - *s->level) * larger(t->slowest_mean, 1.0 / (double)*s->count);
    spread[2] = *s->level - value;
    *s->last = value;
    predict(t, s);
}

/* The usual size of an error, wider while few are known. */
static double usual(const Tables *t, const State *s)
{
    double count = (double)*s->spread_count;
    return sqrt(*s->spread) * (1.0 + t->few / (count * count));
}

/* Feed values one after the other, and note beside each: the prediction of the one after it, the error it came with over
   its usual size, and that usual size afterwards with the quantiles before and after. Returns how many were fed; if a factor
   of the least squares needs attention it stops there and the number is negative. */
int64_t prophecy_feed(const Tables *t, State *s, const double *values, int64_t time, double *mean, double *size,
                      double *spread, double *quantiles)
{
    for (int64_t k = 0; k < time; k++) {
        double value = values[k], difference = value - *s->last, error = difference - *s->step;
        if (size) size[k] = *s->spread_count ? fabs(error) / usual(t, s) : -1.0;
        if (quantiles) memcpy(quantiles + 2 * k * t->levels, s->quantile, sizeof(double) * (size_t)t->levels);
        calibrate(t, s, error);
        int trouble = solve(t, s, difference);
        look_for_bias(t, s, difference);
        weigh(t, s, difference, value);
        advance(t, s, value);
        if (mean) mean[k] = *s->last + *s->step;
        if (spread) spread[k] = usual(t, s);
        if (quantiles)
            memcpy(quantiles + (2 * k + 1) * t->levels, s->quantile, sizeof(double) * (size_t)t->levels);
        if (trouble) return -(k + 1);
    }
    return time;
}

/* One value for each of many series. Marks those that need attention and returns how many they are. */
int64_t prophecy_moment(const Tables *t, State *states, int64_t series, const double *values, uint8_t *marks)
{
    int64_t marked = 0;
    for (int64_t k = 0; k < series; k++) {
        marks[k] = prophecy_feed(t, states + k, values + k, 1, 0, 0, 0, 0) < 0;
        marked += marks[k];
    }
    return marked;
}

int64_t prophecy_sizes(int64_t which) { return which ? (int64_t)sizeof(State) : (int64_t)sizeof(Tables); }
